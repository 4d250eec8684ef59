"""What a result may lack, where a test knows that it is there."""

from typing import TypeVar

from msgspec import UnsetType

T = TypeVar("T")


def there(value: T | UnsetType | None) -> T:
    """The value itself; a test that finds none fails here."""
    assert value is not None
    assert not isinstance(value, UnsetType)
    return value
