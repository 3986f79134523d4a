"""The web services of the back office: REST under /api/v1, sign-in, audit; the console is mounted with them."""
