"""What nearly always holds of accepted messages, in the language of rules: what breaks it may lack a rule."""
