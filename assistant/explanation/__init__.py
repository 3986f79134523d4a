"""Why a message was rejected or waits: facts, rules, sources, similar cases, a correction that was tried."""
