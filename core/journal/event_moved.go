package journal

// TenantMoved says that streams of a tenant were removed here: they are in another database.
type TenantMoved struct {
	Tenant string `json:"tenant"`
	// Database is the id of the database that has the tenant, and Epoch counts its moves.
	Database string `json:"database"`
	Epoch    int    `json:"epoch"`
	// Streams are some of its streams with their heads, by name.
	Streams []StreamHead `json:"streams"`
}

func (TenantMoved) eventType() string { return "agent.tenant.moved" }

func movedEvents() []Event { return []Event{TenantMoved{}} }
