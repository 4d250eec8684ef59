"""The sections on what is planned: what would be asked, swept or tried."""
