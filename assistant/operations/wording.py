"""What answers that were worked out say around their facts, in English, French and Dutch."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str, str]] = {
    # key: English, French, Dutch
    "rules": ("{n} rule(s) match: {where}.", "{n} règle(s) correspondent : {where}.", "{n} regel(s) voldoen: {where}."),
    "codes": ("{n} error code(s): {where}.", "{n} code(s) d'erreur : {where}.", "{n} foutcode(s): {where}."),
    "yes_rules": ("Yes: {n} rule(s): {where}.", "Oui : {n} règle(s) : {where}.", "Ja: {n} regel(s): {where}."),
    "no_rules": ("No: no rule matches: {where}.", "Non : aucune règle : {where}.", "Nee: geen regel: {where}."),
    "by": ("{n} rule(s), by {by}: {where}.", "{n} règle(s), par {by} : {where}.", "{n} regel(s), per {by}: {where}."),
    "groups": ("{n} {by}: {where}.", "{n} {by} : {where}.", "{n} {by}: {where}."),
    "lacking": (
        "{n} {by} without such a rule: {where}.",
        "{n} {by} sans une telle règle : {where}.",
        "{n} {by} zonder zo'n regel: {where}.",
    ),
    "difference": (
        "{d} rule(s): {here} has {n}, {there} {m}; {where}.",
        "{d} règle(s) : {here} en a {n}, {there} {m} ; {where}.",
        "{d} regel(s): {here} heeft er {n}, {there} {m}; {where}.",
    ),
    "against": (
        "Rules of {here}: {n}, of {there}: {m}; {where}.",
        "Règles de {here} : {n}, de {there} : {m} ; {where}.",
        "Regels van {here}: {n}, van {there}: {m}; {where}.",
    ),
    "widest": (
        "The rule that judges most kinds is {code}: {n} of {of}.",
        "La règle qui juge le plus de sortes est {code} : {n} sur {of}.",
        "De regel die de meeste soorten beoordeelt is {code}: {n} van {of}.",
    ),
    "what_market": ("market(s)", "marché(s)", "markt(en)"),
    "what_set": ("rule set(s)", "ensemble(s) de règles", "regelset(s)"),
    "what_severity": ("severity", "gravité(s)", "ernst"),
    "what_class": ("error class(es)", "classe(s) d'erreur", "foutklasse(n)"),
    "what_market_code": ("market code(s)", "code(s) du marché", "marktcode(s)"),
    "what_error_code": ("error code(s)", "code(s) d'erreur", "foutcode(s)"),
    "what_file": ("file(s)", "fichier(s)", "bestand(en)"),
    "what_source": ("source(s)", "source(s)", "bron(nen)"),
    "what_field": ("field(s)", "champ(s)", "veld(en)"),
    "what_title": ("title(s)", "titre(s)", "titel(s)"),
    "what_repair": ("correction script(s)", "script(s) de correction", "correctiescript(s)"),
    "shared": (
        "Counted are the rules of the market's own folder; {n} common rules judge its messages too.",
        "Sont comptées les règles du dossier propre au marché ; {n} règles communes jugent aussi ses messages.",
        "Geteld zijn de regels in de eigen map van de markt; {n} gemeenschappelijke beoordelen haar berichten ook.",
    ),
    "judging": (
        "{n} of them judge a message, {m} say what is done with a verdict.",
        "{n} d'entre elles jugent un message, {m} disent ce qui est fait d'un verdict.",
        "{n} daarvan beoordelen een bericht, {m} zeggen wat er met een oordeel gebeurt.",
    ),
    "with_shared": (
        "Rules of the markets' own folders: {own}; common rules that judge their messages too: {n}.",
        "Règles du dossier propre : {own} ; règles communes qui jugent aussi ces messages : {n}.",
        "Regels in de eigen map: {own}; gemeenschappelijke regels die deze berichten ook beoordelen: {n}.",
    ),
    "field": ("{code}, {field}: {value}.", "{code}, {field} : {value}.", "{code}, {field}: {value}."),
    "rule": ("{code}: {title}. {sentence}", "{code} : {title}. {sentence}", "{code}: {title}. {sentence}"),
    "several": (
        "{n} rules have the code {code}.",
        "{n} règles ont le code {code}.",
        "{n} regels hebben de code {code}.",
    ),
    "none": ("none", "aucun", "geen"),
    "applies": (
        "Yes: {code} judges {what}.",
        "Oui : {code} juge {what}.",
        "Ja: {code} beoordeelt {what}.",
    ),
    "applies_not": (
        "No: {code} does not judge {what}; it judges {kinds}.",
        "Non : {code} ne juge pas {what} ; elle juge {kinds}.",
        "Nee: {code} beoordeelt {what} niet; wel {kinds}.",
    ),
    "in_force": (
        "Yes: {code} is in force on {on} ({validity}).",
        "Oui : {code} est en vigueur le {on} ({validity}).",
        "Ja: {code} is van kracht op {on} ({validity}).",
    ),
    "in_force_not": (
        "No: {code} is not in force on {on} ({validity}).",
        "Non : {code} n'est pas en vigueur le {on} ({validity}).",
        "Nee: {code} is niet van kracht op {on} ({validity}).",
    ),
    "compared": (
        "{one} and {other} differ in: {fields}.",
        "{one} et {other} diffèrent par : {fields}.",
        "{one} en {other} verschillen in: {fields}.",
    ),
    "compared_same": (
        "{one} and {other} say the same.",
        "{one} et {other} disent la même chose.",
        "{one} en {other} zeggen hetzelfde.",
    ),
    "severer": (
        "The severer one is {one} ({here}); {other} is a {there}.",
        "La plus grave est {one} ({here}) ; {other} : {there}.",
        "De zwaarste is {one} ({here}); {other}: {there}.",
    ),
    "severe_alike": (
        "{one} and {other} are of the same severity: {here}.",
        "{one} et {other} sont de la même gravité : {here}.",
        "{one} en {other} zijn even zwaar: {here}.",
    ),
    "changes": (
        "{n} change(s) of the rules and code lists {when}.",
        "{n} changement(s) des règles et listes de codes {when}.",
        "{n} wijziging(en) van de regels en codelijsten {when}.",
    ),
    "between": ("from {since} to {until}", "du {since} au {until}", "van {since} tot {until}"),
    "only": (
        "{n} {what} of {here} that {there} does not have.",
        "{n} {what} de {here} que {there} n'a pas.",
        "{n} {what} van {here} die {there} niet heeft.",
    ),
    "counterpart": (
        "A counterpart is a rule of the other market with the same ebIX reason and a kind in common; rules without an "
        "ebIX reason ({n}) are left out.",
        "Un équivalent est une règle de l'autre marché de même motif ebIX et d'au moins une même sorte ; les règles "
        "sans motif ebIX ({n}) sont laissées de côté.",
        "Een tegenhanger is een regel van de andere markt met dezelfde ebIX-reden en een soort gemeen; regels zonder "
        "ebIX-reden ({n}) zijn weggelaten.",
    ),
    "both": (
        "{n} {what} that {here} and {there} have in common.",
        "{n} {what} que {here} et {there} ont en commun.",
        "{n} {what} die {here} en {there} gemeen hebben.",
    ),
    "in_list": (
        "Yes: {code} stands in the list {list}{of}.",
        "Oui : {code} figure dans la liste {list}{of}.",
        "Ja: {code} staat in de lijst {list}{of}.",
    ),
    "not_in_list": (
        "No: {code} does not stand in the list {list}{of}.",
        "Non : {code} ne figure pas dans la liste {list}{of}.",
        "Nee: {code} staat niet in de lijst {list}{of}.",
    ),
    "yes": ("Yes.", "Oui.", "Ja."),
    "no": ("No.", "Non.", "Nee."),
    "average": (
        "{average} {thing} on average of each {by} ({n} in {groups}); {where}.",
        "{average} {thing} en moyenne par {by} ({n} en {groups}) ; {where}.",
        "{average} {thing} gemiddeld per {by} ({n} in {groups}); {where}.",
    ),
    "no_market": (
        "{name} is none of the markets that have rules here. Which one is meant?",
        "{name} n'est pas un des marchés qui ont des règles ici. Lequel est demandé ?",
        "{name} is geen markt die hier regels heeft. Welke wordt bedoeld?",
    ),
    "no_list": (
        "There is no code list {name}. Which one is meant?",
        "Il n'y a pas de liste de codes {name}. Laquelle est demandée ?",
        "Er is geen codelijst {name}. Welke wordt bedoeld?",
    ),
    "no_setting": (
        "There is no setting {name}. Which one is meant?",
        "Il n'y a pas de paramètre {name}. Lequel est demandé ?",
        "Er is geen instelling {name}. Welke wordt bedoeld?",
    ),
    "no_script": (
        "There is no correction script {name}. Which one is meant?",
        "Il n'y a pas de script de correction {name}. Lequel est demandé ?",
        "Er is geen correctiescript {name}. Welk wordt bedoeld?",
    ),
    "part_missing": (
        "This part was not understood and is not answered: {part}",
        "Cette partie n'a pas été comprise et reste sans réponse : {part}",
        "Dit deel is niet begrepen en niet beantwoord: {part}",
    ),
    "read_like": (
        "Read like the question: {question}",
        "Lu comme la question : {question}",
        "Gelezen als de vraag: {question}",
    ),
    "read_as": ("Read as: {words}.", "Lu comme : {words}.", "Gelezen als: {words}."),
    "what_rule": ("rule(s)", "règle(s)", "regel(s)"),
    "what_ebix": ("ebIX reason(s)", "motif(s) ebIX", "ebIX-reden(en)"),
    "what_kind": ("kind(s) of message", "sorte(s) de message", "soort(en) bericht"),
    "what_list": ("code list(s)", "liste(s) de codes", "codelijst(en)"),
    "what_code": ("code(s)", "code(s)", "code(s)"),
    "lists": ("{n} code list(s){of}.", "{n} liste(s) de codes{of}.", "{n} codelijst(en){of}."),
    "list": (
        "The list {list}{of} has {n} code(s).",
        "La liste {list}{of} compte {n} code(s).",
        "De lijst {list}{of} heeft {n} code(s).",
    ),
    "codes_found": ("{n} code(s){of}: {where}.", "{n} code(s){of} : {where}.", "{n} code(s){of}: {where}."),
    "meaning": (
        "{code}: {label} (list {list}, {market}).",
        "{code} : {label} (liste {list}, {market}).",
        "{code}: {label} (lijst {list}, {market}).",
    ),
    "valid_in": ("{code} is valid: {days}.", "{code} est valable : {days}.", "{code} is geldig: {days}."),
    "always_valid": (
        "{code} is valid without a limit in time.",
        "{code} est valable sans limite dans le temps.",
        "{code} is geldig zonder beperking in de tijd.",
    ),
    "meanings": (
        "{code} stands in {n} lists.",
        "{code} figure dans {n} listes.",
        "{code} staat in {n} lijsten.",
    ),
    "of": (" of {market}", " de {market}", " van {market}"),
    "stored": ("{n} {thing}: {where}.", "{n} {thing} : {where}.", "{n} {thing}: {where}."),
    "first": (
        "The first: {at} ({what}); {where}.",
        "Le premier : {at} ({what}) ; {where}.",
        "De eerste: {at} ({what}); {where}.",
    ),
    "last": (
        "The latest: {at} ({what}); {where}.",
        "Le dernier : {at} ({what}) ; {where}.",
        "De laatste: {at} ({what}); {where}.",
    ),
    "ranks": ("{names}; {where}.", "{names} ; {where}.", "{names}; {where}."),
    "top": ("{name}: {n} {thing}; {where}.", "{name} : {n} {thing} ; {where}.", "{name}: {n} {thing}; {where}."),
    "invoice_total": ("Total without tax:", "Total hors taxes :", "Totaal zonder belasting:"),
    "invoice_tax": ("Tax:", "Taxes :", "Belasting:"),
    "invoice_gross": ("Total with tax:", "Total toutes taxes comprises :", "Totaal met belasting:"),
    "invoice_due": ("Due on:", "Échéance :", "Vervaldag:"),
    "invoice_charges": (
        "Line groups that it announces:",
        "Groupes de lignes annoncés :",
        "Aangekondigde groepen van regels:",
    ),
    "nothing": ("None: {where}.", "Aucun : {where}.", "Geen: {where}."),
    "why": (
        "Message {id} ({kind}, {type}) is {state}: {codes}.",
        "Le message {id} ({kind}, {type}) est {state} : {codes}.",
        "Bericht {id} ({kind}, {type}) is {state}: {codes}.",
    ),
    "no_error": ("no error holds for it", "aucune erreur ne vaut pour lui", "er geldt geen fout voor"),
    "waits": (
        "Message {id} ({kind}, {type}) waits for {what}, until {until}.",
        "Le message {id} ({kind}, {type}) attend {what}, jusqu'au {until}.",
        "Bericht {id} ({kind}, {type}) wacht op {what}, tot {until}.",
    ),
    "waits_in": (
        "Message {id} ({kind}, {type}) is {state}: it waits for {what}, until {until}.",
        "Le message {id} ({kind}, {type}) est {state} : il attend {what}, jusqu'au {until}.",
        "Bericht {id} ({kind}, {type}) is {state}: het wacht op {what}, tot {until}.",
    ),
    "freed": (
        "Message {id} was freed on {at} by {by}: {before} to {after}{why}.",
        "Le message {id} a été libéré le {at} par {by} : de {before} à {after}{why}.",
        "Bericht {id} is op {at} vrijgemaakt door {by}: van {before} naar {after}{why}.",
    ),
    "not_freed": (
        "Message {id} was never freed; it is {state}.",
        "Le message {id} n'a jamais été libéré ; il est {state}.",
        "Bericht {id} is nooit vrijgemaakt; het is {state}.",
    ),
    "never_stuck": (
        "Message {id} was never stuck; it is {state}.",
        "Le message {id} n'a jamais été bloqué ; il est {state}.",
        "Bericht {id} heeft nooit vastgezeten; het is {state}.",
    ),
    "references": (
        "Our reference of the request is {ours}, the market's {market}.",
        "Notre référence de la demande est {ours}, celle du marché {market}.",
        "Onze referentie van het verzoek is {ours}, die van de markt {market}.",
    ),
    "no_references": (
        "The store has no request of ours with the reference {reference}, ours or the market's.",
        "La base n'a pas de demande à nous de référence {reference}, la nôtre ou celle du marché.",
        "De opslag heeft geen verzoek van ons met de referentie {reference}, de onze of die van de markt.",
    ),
    "request_state": (
        "Request {reference} is {state}{code} since {at}.",
        "La demande {reference} est {state}{code} depuis le {at}.",
        "Verzoek {reference} is {state}{code} sinds {at}.",
    ),
    "no_request": (
        "The store has no request with the reference {reference}.",
        "La base n'a pas de demande de référence {reference}.",
        "De opslag heeft geen verzoek met de referentie {reference}.",
    ),
    "no_request_there": (
        "The store has no request at the access point {point}.",
        "La base n'a pas de demande au point {point}.",
        "De opslag heeft geen verzoek bij de aansluiting {point}.",
    ),
    "requests_there": (
        "{n} requests at the access point {point}.",
        "{n} demandes au point {point}.",
        "{n} verzoeken bij de aansluiting {point}.",
    ),
    "no_message": (
        "There is no message {id} in the store.",
        "Il n'y a pas de message {id} dans la base.",
        "Er is geen bericht {id} in de opslag.",
    ),
    "facts": (
        "Message {id} is a {kind} ({type}) of {market}, received at {at} in envelope {envelope}; it is {state}.",
        "Le message {id} est un {kind} ({type}) de {market}, reçu le {at} enveloppe {envelope} ; il est {state}.",
        "Bericht {id} is een {kind} ({type}) uit {market}, ontvangen op {at} in envelop {envelope}; het is {state}.",
    ),
    "point_of": (
        "Message {id} is about the access point {point} ({market}).",
        "Le message {id} concerne le point {point} ({market}).",
        "Bericht {id} gaat over de aansluiting {point} ({market}).",
    ),
    "no_point": (
        "Message {id} is about no access point.",
        "Le message {id} ne concerne aucun point.",
        "Bericht {id} gaat over geen aansluiting.",
    ),
    "life": (
        "{n} event(s) at the access point {point}{when}.",
        "{n} événement(s) au point {point}{when}.",
        "{n} gebeurtenis(sen) bij de aansluiting {point}{when}.",
    ),
    "supplied": (
        "Yes: the access point {point} is supplied on {on}; {n} period(s) of supply are known.",
        "Oui : le point {point} est fourni le {on} ; {n} période(s) de fourniture sont connues.",
        "Ja: de aansluiting {point} wordt op {on} beleverd; {n} leveringsperiode(n) zijn bekend.",
    ),
    "not_supplied": (
        "No: the access point {point} is not supplied on {on}; {n} period(s) of supply are known.",
        "Non : le point {point} n'est pas fourni le {on} ; {n} période(s) de fourniture sont connues.",
        "Nee: de aansluiting {point} wordt op {on} niet beleverd; {n} leveringsperiode(n) zijn bekend.",
    ),
    "no_life": (
        "The store does not know the access point {point}.",
        "La base ne connaît pas le point {point}.",
        "De opslag kent de aansluiting {point} niet.",
    ),
    "entry": ("{name}: {about}", "{name} : {about}", "{name}: {about}"),
    "default": ("{name} is {value} by default.", "{name} vaut {value} par défaut.", "{name} is standaard {value}."),
    "entries": ("{n} {what}.", "{n} {what}.", "{n} {what}."),
    "no_entry": (
        "The documentation has no {what} {name}.{like}",
        "La documentation n'a pas de {what} {name}.{like}",
        "De documentatie heeft geen {what} {name}.{like}",
    ),
    "like": (" Like it: {names}.", " Proches : {names}.", " Lijkt erop: {names}."),
    "no_code": (
        "No rule has the code {code}.{like}",
        "Aucune règle n'a le code {code}.{like}",
        "Geen regel heeft de code {code}.{like}",
    ),
    "rules_versions": (
        "The store was judged by {n} version(s) of the rules; today's is {version}.",
        "La base a été jugée par {n} version(s) des règles ; celle d'aujourd'hui est {version}.",
        "De opslag is beoordeeld met {n} versie(s) van de regels; die van vandaag is {version}.",
    ),
    "documents": (
        "{n} document(s) with a version.",
        "{n} document(s) avec une version.",
        "{n} document(en) met versie.",
    ),
    "document_changes": (
        "{n} line(s) differ between version {old} and version {new} of {document}.",
        "{n} ligne(s) diffèrent entre la version {old} et la version {new} de {document}.",
        "{n} regel(s) verschillen tussen versie {old} en versie {new} van {document}.",
    ),
    "ask_market": (
        "Of which market?",
        "De quel marché ?",
        "Van welke markt?",
    ),
    "ask_meant": (
        "Several things may be meant: which one?",
        "Plusieurs choses sont possibles : laquelle ?",
        "Er kan van alles bedoeld zijn: wat?",
    ),
    "no_store": (
        "The store cannot be read: {why}",
        "La base ne peut pas être lue : {why}",
        "De opslag kan niet worden gelezen: {why}",
    ),
    "proof": ("Proof", "Preuve", "Bewijs"),
    "understood": ("Understood as", "Compris comme", "Begrepen als"),
    "read_by": (
        "Codes and words of the rules are as their files have them.",
        "Les codes et les mots des règles sont ceux de leurs fichiers.",
        "Codes en woorden van de regels zijn die van hun bestanden.",
    ),
}

LANGUAGES = ("en", "fr", "nl")

MARKETS: dict[str, tuple[str, str, str]] = {
    "FR": ("France", "la France", "Frankrijk"),
    "NL": ("the Netherlands", "les Pays-Bas", "Nederland"),
    "BE": ("Belgium", "la Belgique", "België"),
    "DK": ("Denmark", "le Danemark", "Denemarken"),
    "common": ("common rules", "règles communes", "gemeenschappelijke regels"),
}
THINGS: dict[str, tuple[str, str, str]] = {
    "message": ("message(s)", "message(s)", "bericht(en)"),
    "envelope": ("envelope(s)", "enveloppe(s)", "envelop(pen)"),
    "request": ("request(s)", "demande(s)", "verzoek(en)"),
    "ticket": ("ticket(s)", "ticket(s)", "ticket(s)"),
    "notification": ("notification(s)", "notification(s)", "kennisgeving(en)"),
    "incident": ("incident(s)", "incident(s)", "incident(en)"),
    "access_point": ("access point(s)", "point(s)", "aansluiting(en)"),
    "calorific_value": ("calorific value(s)", "pouvoir(s) calorifique(s)", "calorische waarde(n)"),
    "invoice": ("invoice(s)", "facture(s)", "factuur/facturen"),
    "reading": ("reading(s)", "relevé(s)", "meterstand(en)"),
    "volume": ("consumption period(s)", "période(s) de consommation", "verbruiksperiode(n)"),
    "series": ("series", "courbe(s)", "meetreeks(en)"),
    "meter": ("meter(s)", "compteur(s)", "meter(s)"),
    "supply_period": ("supply period(s)", "période(s) de fourniture", "leveringsperiode(n)"),
    "contract": ("contract record(s)", "enregistrement(s) de contrat", "contractregistratie(s)"),
    "grid_invoice": ("grid invoice(s)", "facture(s) de réseau", "netfactuur/netfacturen"),
    "station": ("station(s)", "station(s)", "station(s)"),
    "market": ("market(s)", "marché(s)", "markt(en)"),
    "type": ("type(s)", "type(s)", "type(s)"),
    "kind": ("kind(s)", "sorte(s)", "soort(en)"),
    "state": ("state(s)", "état(s)", "status(sen)"),
    "class": ("class(es)", "classe(s)", "klasse(n)"),
    "rule": ("rule(s)", "règle(s)", "regel(s)"),
    "day": ("day(s)", "jour(s)", "dag(en)"),
    "month": ("month(s)", "mois", "maand(en)"),
    "by": ("by", "par", "door"),
    "channel": ("channel(s)", "canal/canaux", "kanaal/kanalen"),
    "waits_for": ("what is waited for", "attendu(s)", "waarop gewacht wordt"),
    "operator": ("grid operator(s)", "gestionnaire(s)", "netbeheerder(s)"),
    "finding": ("finding(s)", "constat(s)", "bevinding(en)"),
    "freed": ("message(s) freed", "message(s) libéré(s)", "bericht(en) vrijgemaakt"),
    "acknowledgement": ("acknowledgement(s)", "accusé(s) de réception", "ontvangstbevestiging(en)"),
    "rules_version": ("version(s) of the rules", "version(s) des règles", "versie(s) van de regels"),
    "setting": ("setting(s)", "paramètre(s)", "instelling(en)"),
    "command": ("command(s)", "commande(s)", "commando('s)"),
    "code": ("code(s)", "code(s)", "code(s)"),
    "word": ("word(s)", "mot(s)", "woord(en)"),
    "alarm": ("alarm(s)", "alarme(s)", "alarm(en)"),
    "option": ("option(s)", "option(s)", "optie(s)"),
    "exit_code": ("exit code(s)", "code(s) de sortie", "afsluitcode(s)"),
    "field": ("field(s)", "champ(s)", "veld(en)"),
}


def say(language: str, key: str, /, **values: object) -> str:
    """Words of an answer in a language; English where it is none of the three."""
    return _of(WORDS[key], language).format(**values)


def market_name(market: str, language: str) -> str:
    """The name of a market in a language; its letters where it has none here."""
    return _of(MARKETS[market], language) if market in MARKETS else market


def thing_name(thing: str, language: str) -> str:
    """What a thing of the store or the documentation is called in a language."""
    return _of(THINGS[thing], language)


def _of(words: tuple[str, str, str], language: str) -> str:
    return words[LANGUAGES.index(language) if language in LANGUAGES else 0]
