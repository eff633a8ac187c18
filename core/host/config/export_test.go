package config

// OwnGroup is whether a group has nobody in it but a user and root, by files of accounts.
func OwnGroup(user, group uint32, userFile, groupFile string) bool {
	return trust{users: []uint32{0, user}, userFile: userFile, groupFile: groupFile}.ownGroup(group)
}
