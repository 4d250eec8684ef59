"""What a result may lack, where a test knows that it is there."""

from typing import TypeVar

T = TypeVar("T")


def there(value: T | None) -> T:
    """The value itself; a test that finds none fails here."""
    assert value is not None
    return value
