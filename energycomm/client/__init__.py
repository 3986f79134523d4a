"""A typed client of the API, which returns the server's own types.

from energycomm.client import Client

with Client("https://energycomm.example.org", token=token) as gateway:
    for message in gateway.messages(state="rejected"):
        ...
"""

from energycomm.client.client import Client
from energycomm.client.connection import Refused, Unreachable

__all__ = ["Client", "Refused", "Unreachable"]
