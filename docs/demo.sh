#!/bin/sh
# Four markets in one store: messages in, a request out in each, and the simulated markets' answers.
# Usage: docs/demo.sh FOLDER, with `energycomm` on the path; the folder holds the store afterwards. `make demo` calls it.
set -eu

place=${1:?usage: docs/demo.sh FOLDER}
export ENERGYCOMM_DATABASE="${ENERGYCOMM_DATABASE:-sqlite:///$place/energycomm.db}"
# What goes on inside is in the store; the demonstration shows results.
export ENERGYCOMM_LOG_LEVEL="${ENERGYCOMM_LOG_LEVEL:-warning}"

say() { printf '\n== %s\n\n' "$1"; }
# 1: something was rejected or waits, 2: something could not be read. Both are meant: the fixtures hold mistakes.
process() { energycomm process "$@" || [ $? -le 2 ]; }

energycomm eis upgrade

say "1. What the markets of France, the Netherlands, Belgium and Denmark sent"
process fixtures/fr fixtures/nl fixtures/be fixtures/dk

say "   What the supplier knew before: two points that it supplies for years, whose messages would wait for ever"
energycomm portfolio template "$place/template.xlsx"
energycomm portfolio load fixtures/portfolio/fr.csv
# 1: the portfolio holds two of the points, the store those of the fixtures too.
energycomm portfolio compare fixtures/portfolio/fr.csv || [ $? -eq 1 ]

# Enedis takes a change of supplier on its portal only; of its services we ask for the daily indexes of a point.
say "2. What we ask: a change of supplier in the Netherlands, Belgium and Denmark, access to an index in France"
for market in fr nl be dk; do
	energycomm request submit "fixtures/requests/$market.json"
done
energycomm request list

say "3. The markets answer (simulated): each of them twice, and in the wrong order"
energycomm simulate-answers "$place/answers" --twice 1 --disorder 1
process "$place/answers"
energycomm request list

say "4. One access point in each market"
# The point whose index is delivered now, and three that we gained.
for point in 99000000000303 871999910000000065 541449000000001079 571313199900000053; do
	energycomm access-point show "$point"
	echo
done
