"""The daemon: polls every channel, processes arrivals and sends what is due, unattended.

One supervisor and several worker processes. The supervisor starts workers, replaces those that die or hang, gathers
what they count, raises alarms, and answers on a loopback port. Every worker claims archived envelopes and processes
them; its threads have duties (poll a channel, send, tell the back office, tidy), each of which one worker in all leads
at a time. Who holds what is kept in PostgreSQL's advisory locks, which end with the connection of a worker that dies.
"""
