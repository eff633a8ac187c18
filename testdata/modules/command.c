// A WASI command with wasi-libc: it says how many bytes it was sent.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
	static char request[1 << 16];
	size_t n = fread(request, 1, sizeof request - 1, stdin);
	if (strstr(request, "\"op\":\"describe\""))
		printf("{\"manifest\":{\"name\":\"guest\",\"version\":\"1.0.0\",\"contract\":1,\"kinds\":[\"evaluator\"]}}");
	else if (strstr(request, "\"op\":\"prepare\""))
		printf("{}");
	else if (strstr(request, "\"do\":\"exit\"")) {
		fprintf(stderr, "no more\n");
		exit(3);
	} else if (strstr(request, "\"do\":\"huge\""))
		for (;;) fwrite(request, 1, sizeof request, stdout);
	else
		printf("{\"results\":[{\"response\":{\"verdict\":{\"valid\":true,\"score\":1,\"feedback\":\"%zu %s\"}}}]}", n, getenv("TOKEN") ? getenv("TOKEN") : "");
	return 0;
}
