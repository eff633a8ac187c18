package cli

// anyFile, folder and the others are positions that take a file or a folder.
var (
	anyFile   = offer{files: []string{"*"}}
	folder    = offer{folder: true}
	yamlFile  = offer{files: []string{"yaml", "yml"}}
	jsonFile  = offer{files: []string{"json"}}
	linesFile = offer{files: []string{"jsonl", "json"}}
)

// Why nothing is offered at a position.
var (
	freeText   = offer{free: "a text of the user's"}
	freeNumber = offer{free: "a number"}
	freeTime   = offer{free: "a time"}
	freeNew    = offer{free: "a name for something new"}
	freeCursor = offer{free: "the token of an earlier page"}
	freeQuery  = offer{free: "a query"}
)

// argumentOffers are the offers for the arguments of a command, by its path. If a command
// takes more arguments, the last offer is for all of them.
var argumentOffers = map[string][]offer{
	"init":                {folder},
	"run":                 {yamlFile},
	"resume":              {runIDs},
	"replay":              {runIDs},
	"runs show":           {runIDs},
	"runs diff":           {runIDs},
	"decisions show":      {freeText},
	"dream dates":         {freeText},
	"session show":        {sessions},
	"memory lineage":      {memoryIDs},
	"memory history":      {memoryIDs},
	"knowledge supersede": {knowledgeIDs, knowledgeIDs},
	"evaluate":            {anyFile},
	"correct":             {anyFile},
	"plugin add":          {folder},
	"plugin inspect":      {pluginNames},
	"plugin logs":         {pluginNames},
	"plugin new":          {freeNew},
	"plugin remove":       {pluginNames},
	"plugin sign":         {folder},
	"plugin test":         {folder},
	"plugin verify":       {pluginNames},
	"policy check":        {folder},
	"policy test":         {folder},
	"policy diff":         {folder, folder},
	"policy replay":       {folder},
	"policy describe":     {policyPoints},
	"policy eval":         {policyPoints},
	"policy explain":      {policyPoints},
	"memory recall":       {freeQuery},
	"memory get":          {memoryIDs},
	"memory explain":      {memoryIDs},
	"memory restore":      {memoryIDs},
	"memory link":         {memoryIDs, relations, memoryIDs},
	"memory sweep":        {namespaces},
	"memory reembed":      {namespaces},
	"memory approve":      {pendingIDs},
	"memory reject":       {pendingIDs},
	"knowledge get":       {knowledgeIDs},
	"knowledge recall":    {freeQuery},
	"governance get":      {namespaces},
	"governance explain":  {namespaces},
	"governance set":      {namespaces, fieldValues},
	"governance unset":    {namespaces, fields},
	"gate run":            {memoryIDs},
	"gate explain":        {memoryIDs},
	"gate request":        {memoryIDs},
	"audit show":          {streams},
	"store export":        {linesFile},
	"store import":        {linesFile},
	"store backup":        {folder},
	"store restore":       {folder},
	"token new":           {freeNew},
	"token revoke":        {tokenIDs},
}

// flagOffers are the offers for the values of flags, by their names, preceded by the
// command's path if it differs between commands.
var flagOffers = map[string]offer{
	"agent":      freeText,
	"data-dir":   folder,
	"plugin-dir": folder,
	"policy-dir": folder,
	"lock":       anyFile,
	"lock-wait":  freeTime,
	"sandbox":    oneOf("require", "prefer", "off"),
	"log-level":  {values: logLevels},
	"durability": oneOf("full", "relaxed"),

	"namespace":                namespaces,
	"session":                  sessions,
	"kind":                     memoryKinds,
	"state":                    memoryStates,
	"run --state":              freeText,
	"status":                   {values: runStatuses},
	"workflow":                 workflows,
	"used":                     memoryIDs,
	"source":                   memoryIDs,
	"memory feedback --source": oneOf("user", "tool", "text"),
	"outcome":                  oneOf("success", "failure", "partial"),
	"lang":                     languages,
	"runtime":                  oneOf("process", "wasm"),
	"scope":                    scopes,

	"evaluator":  yamlFile,
	"corrector":  yamlFile,
	"errors":     jsonFile,
	"state-file": jsonFile,
	"input":      anyFile,
	"file":       linesFile,
	"queries":    linesFile,
	"log":        linesFile,
	"segment":    linesFile,
	"key":        {files: []string{"pem"}},
	"dir":        folder,
	"out":        folder,
	"policies":   folder,
	"sdk":        folder,

	"accept":                   freeText,
	"by":                       freeText,
	"content":                  freeText,
	"grant":                    freeText,
	"expires-in":               freeTime,
	"id":                       freeNew,
	"idempotency-key":          freeNew,
	"label":                    freeText,
	"listen":                   freeText,
	"metadata":                 freeText,
	"note":                     freeText,
	"reason":                   freeText,
	"decisions list --outcome": freeText,
	"dream dates --at":         freeText,
	"point":                    policyPoints,
	"type":                     freeText,
	"tag":                      freeText,
	"title":                    freeText,
	"page-token":               freeCursor,
	"head":                     freeCursor,
	"occurred-at":              freeTime,
	"since":                    freeTime,

	"codebase-verification": freeNumber,
	"confidence":            freeNumber,
	"depth":                 freeNumber,
	"from":                  freeNumber,
	"importance":            freeNumber,
	"limit":                 freeNumber,
	"lines":                 freeNumber,
	"to":                    freeNumber,
	"visit":                 freeNumber,
	"min-score":             freeNumber,
	"priority":              freeNumber,
	"runtime-utility-trend": freeNumber,
	"turn":                  freeNumber,
	"upstream-status":       freeNumber,
}
