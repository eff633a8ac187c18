module example.com/embed

go 1.26.0

require github.com/reflectory/reflectory v0.1.0
