"""The assistant: answers from the KernelRules documents and the house's own documentation, with quotes, or abstains.

An extra of EnergyComm (`energycomm[assistant]`); the gateway never imports it.
"""
