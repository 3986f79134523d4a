set -eu
as_postgres() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
install -d -o postgres -g postgres -m 700 "$PGDATA"
install -d -o postgres -g postgres /run/postgresql
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	install -o postgres -m 400 "$POSTGRES_PASSWORD_FILE" /run/postgresql/password
	as_postgres initdb --encoding UTF8 --locale C.UTF-8 --username "$POSTGRES_USER" --pwfile /run/postgresql/password --auth-host scram-sha-256 --auth-local trust >/dev/null
	rm /run/postgresql/password
	as_postgres pg_ctl --wait --options "-c listen_addresses=''" start
	sleep 6 # longer than a health check's interval: one that asks the socket would call this server ready
	as_postgres psql --no-psqlrc --username "$POSTGRES_USER" --dbname postgres --command "CREATE DATABASE \"$POSTGRES_DB\""
	as_postgres pg_ctl --wait --mode fast stop
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
fi
exec setpriv --reuid postgres --regid postgres --clear-groups postgres -c listen_addresses='*'
