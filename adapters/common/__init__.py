"""What the adapters of several markets share: codes of refusals, reading of XML, schemas, legal time.

An adapter need not use any of it; the contract is `energycomm.market.contract` alone.
"""
