"""An HTTP server on loopback that answers from a script.

usage: scripted_llm_server.py SCRIPT.json LOG.jsonl PORT_FILE

The script is a list of responses, used in order; past its end every request gets status 599.
  {"status": 200, "headers": {"retry-after": "0"}, "body": {...} or "text", "delay": seconds,
   "drop": "before" (close without a byte) | "half" (close in the middle of the body),
   "repeat": bytes (a body of that many "x"),
   "stream": ["piece", ...] (instead of a body: an event stream, sent chunked, one write a piece),
   "pause": seconds before each piece, "drop": "end" (close without the last chunk),
   "forever": true (after the pieces, ": keep-alive" every 0.1 s)}
An item that is a list of one response is used for every request that is left.
Writes its port to PORT_FILE, then serves until stdin is closed. Every request is appended to the log as {"path", "headers", "body"}.
"""
import http.server
import json
import os
import sys
import threading
import time

script = json.load(open(sys.argv[1]))
log = open(sys.argv[2], "a")
lock = threading.Lock()
position = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        global position
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with lock:
            response = script[position] if position < len(script) else {"status": 599}
            if isinstance(response, list):
                response = response[0]  # for ever
            else:
                position += 1
            headers = {name.lower(): value for name, value in self.headers.items()}
            log.write(json.dumps({"path": self.path, "headers": headers, "body": json.loads(body)}))
            log.write("\n")
            log.flush()
        time.sleep(response.get("delay", 0))
        if response.get("drop") == "before":
            self.close_connection = True
            return
        if "stream" in response:
            return self.stream(response)
        payload = response.get("body", "")
        payload = payload if isinstance(payload, str) else json.dumps(payload)
        payload = payload.encode() + b"x" * response.get("repeat", 0)
        self.send_response(response.get("status", 200))
        for name, value in response.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        if response.get("drop") == "half":
            payload = payload[: len(payload) // 2]
            self.close_connection = True
        try:
            self.wfile.write(payload)
        except OSError:
            pass  # the client has seen enough

    def stream(self, response):
        self.send_response(response.get("status", 200))
        headers = {"content-type": "text/event-stream", **response.get("headers", {})}
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for piece in response["stream"]:
                time.sleep(response.get("pause", 0))
                self.chunk(piece)
            while response.get("forever"):
                time.sleep(0.1)
                self.chunk(": keep-alive\n\n")
            if response.get("drop") == "end":
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass

    def chunk(self, text):
        data = text.encode("utf-8", "surrogateescape")
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.handle_error = lambda request, address: None  # clients that hang up are part of the tests
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(sys.argv[3] + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[3] + ".new", sys.argv[3])
sys.stdin.read()
