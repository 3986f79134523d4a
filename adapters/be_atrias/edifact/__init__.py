"""The older EDIFACT generation of the Belgian market: UTILMD, MSCONS, APERAK and CONTRL."""
