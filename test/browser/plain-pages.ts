import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";

/** What pages cost that do nothing: measured in the same run, on the same machine, as what is judged. */
export interface PlainPages {
  /** Has nothing but a heading. */
  readonly empty: string;
  /** A table of so many rows, without a script. */
  list(rows: number): string;
  /** Shows what `tell` says, read from one answer that goes on. */
  readonly stream: string;
  tell(text: string): void;
  close(): Promise<void>;
}

const page = (body: string): string => `<!doctype html><meta charset="utf-8"><title>Plain</title>${body}`;

const reader = `<p id="told">-</p><script type="module">
const { body } = await fetch("/told");
const reader = body.pipeThrough(new TextDecoderStream()).getReader();
for (let part = await reader.read(); !part.done; part = await reader.read()) told.textContent = part.value.trim().split("\\n").at(-1);
</script>`;

const row = (index: number): string => `<tr><td>Pending<td><a href="#${index}">run-${index}</a><td>workflow<td>0/1`;

export async function startPlainPages(): Promise<PlainPages> {
  const readers = new Set<ServerResponse>();
  const server = createServer(({ url = "" }, response) => {
    if (url === "/told") {
      readers.add(response);
      return response.flushHeaders();
    }
    const { pathname, searchParams } = new URL(url, "http://localhost");
    const rows = Array.from({ length: Number(searchParams.get("rows") ?? 0) }, (_, index) => row(index));
    const body = pathname === "/stream" ? reader : `<h1>Plain</h1><table><tbody>${rows.join("")}</table>`;
    return response.writeHead(200, { "Content-Type": "text/html" }).end(page(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const base = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  return {
    empty: `${base}/`,
    list: (rows) => `${base}/?rows=${rows}`,
    stream: `${base}/stream`,
    tell: (text) => readers.forEach((response) => response.write(`${text}\n`)),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
