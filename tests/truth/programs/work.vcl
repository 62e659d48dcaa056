# SPDX-License-Identifier: Apache-2.0
# work: Varnish compiles this to a library, which answers each request
vcl 4.1;
import std;

backend default none;

sub vcl_recv {
	set req.http.x = regsuball(req.url, "[a-m]", "<\0>");
	if (req.http.x ~ "(a|b)+") {
		set req.http.x = std.tolower(req.http.x);
	}
	return (synth(200));
}
