import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type {
  LogPage,
  RunPage,
  RunSummary,
  SourceGrid,
  SourceSummary,
  StreamLine,
  Subscription,
  Subscriptions,
} from "#app/ui/wire.ts";
import { systemClock } from "#lib/base/index.ts";
import { gridSteps } from "../grid-steps.ts";
import { detailOf, type SampleRun } from "./sample-runs.ts";

const files = fileURLToPath(new URL("../../../../dist/ui/", import.meta.url));

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

interface Open {
  readonly response: ServerResponse;
  subscriptions: readonly Subscription[];
}

/**
 * Answers the page's contract from runs in memory: what the page does with runs that a real server takes minutes for,
 * or never has. Has no sessions.
 */
export class FixtureServer {
  readonly #server: Server;
  readonly #runs = new Map<string, SampleRun>();
  readonly #open = new Map<string, Open>();
  /** RunActions that the page has created. */
  readonly actions: unknown[] = [];
  /** What logs say. */
  logLines: readonly string[] = ["first line", "second line"];
  #nextToken = 1;

  constructor(runs: readonly SampleRun[]) {
    for (const run of runs) this.#runs.set(run.name, run);
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((thrown: unknown) => response.writeHead(500).end(String(thrown)));
    });
  }

  /** The address of the page. Of a server that was closed: the same port again. */
  async listen(port = 0): Promise<string> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : port}/slipway`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** Creates or changes a run, and says so to the streams. */
  put(run: SampleRun): void {
    const type = this.#runs.has(run.name) ? "MODIFIED" : "ADDED";
    const before = [...this.#runs].filter(([name]) => name !== run.name);
    const others = type === "MODIFIED" ? this.#runs : new Map([[run.name, run] as const, ...before]);
    if (type === "ADDED") this.#runs.clear();
    for (const [name, one] of others) this.#runs.set(name, one);
    this.#runs.set(run.name, run);
    const detail = detailOf(run);
    this.#tell((what) => (what === "runs" ? detail.summary : what === "run" ? detail : undefined), type, run.name);
  }

  delete(name: string): void {
    const run = this.#runs.get(name);
    this.#runs.delete(name);
    if (run !== undefined)
      this.#tell((what) => (what === "runs" || what === "run" ? detailOf(run).summary : undefined), "DELETED", name);
  }

  #tell(objectOf: (what: Subscription["what"]) => unknown, type: StreamLine["type"], name: string): void {
    for (const { response, subscriptions } of this.#open.values())
      for (const { id, what, params } of subscriptions) {
        const object = objectOf(what);
        if (object === undefined || (what === "run" && params["name"] !== name)) continue;
        write(response, { id, type, object, rv: "2" });
      }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://localhost");
    const path = url.pathname.slice("/slipway".length);
    if (request.method === "POST") return await this.#post(request, response, path);
    const isHtml = String(request.headers.accept).includes("text/html");
    if (path.startsWith("/assets/") || isHtml) return await sendFile(response, isHtml ? "index.html" : path.slice(1));
    const [, part = "", , , name = ""] = path.split("/").map(decodeURIComponent);
    if (part === "runs" && name !== "") return this.#sendRun(response, name);
    if (part === "runs") return send(response, this.#page(url.searchParams));
    if (part === "logs") return send(response, this.#log());
    if (part === "sources") return send(response, name === "" ? { items: this.#sources() } : this.#grid(path));
    if (path.startsWith("/api/")) return send(response, { kind: "List", items: [], resources: [] });
    return send(response, status(404, "NotFound", `${path} not found`), 404);
  }

  #sendRun(response: ServerResponse, name: string): void {
    const run = this.#runs.get(name);
    if (run === undefined) send(response, status(404, "NotFound", `workflows "${name}" not found`), 404);
    else send(response, detailOf(run));
  }

  async #post(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const body: unknown = await json(request);
    if (path.endsWith("/runactions")) {
      this.actions.push(body);
      const metadata = { name: "action-1", resourceVersion: "1" };
      return send(response, { ...(body as object), metadata, status: { phase: "Accepted" } }, 201);
    }
    if (!path.startsWith("/stream")) return send(response, status(404, "NotFound", `${path} not found`), 404);
    const { subscriptions } = body as Subscriptions;
    const known = this.#open.get(path.slice("/stream/".length));
    if (known !== undefined) {
      known.subscriptions = subscriptions;
      return send(response, {});
    }
    const token = String(this.#nextToken++);
    this.#open.set(token, { response, subscriptions });
    response.once("close", () => this.#open.delete(token));
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    write(response, { id: "", type: "HELLO", token });
  }

  #page(query: URLSearchParams): RunPage {
    const all = [...this.#runs.values()].map((run) => detailOf(run).summary);
    const [text, source] = [query.get("text") ?? "", query.get("source")];
    const phases = query.get("phase")?.split(",") ?? [];
    const fitting = all.filter(
      (run) => run.name.includes(text) && (source === null || `${run.source?.kind}/${run.source?.name}` === source),
    );
    const counts: Record<string, number> = {};
    for (const { phase } of fitting) counts[phase] = (counts[phase] ?? 0) + 1;
    const found = fitting.filter(({ phase }) => phases.length === 0 || phases.includes(phase));
    const [from, limit] = [Number(query.get("continue") ?? 0), Number(query.get("limit") ?? 500)];
    return {
      items: found.slice(from, from + limit),
      ...(from + limit < found.length ? { continue: String(from + limit) } : {}),
      counts,
      total: found.length,
      resourceVersion: "1",
      now: systemClock.now(),
    };
  }

  #grid(path: string): SourceGrid {
    const source = this.#sources().find(({ name }) => path.endsWith(`/${name}`));
    if (source === undefined) throw new Error(`no run was made from ${path}`);
    const views = source.runs.map(({ name }) => this.#runs.get(name)).map((run) => run && detailOf(run).view);
    return { source, steps: gridSteps(views) };
  }

  #sources(): readonly SourceSummary[] {
    const bySource = new Map<string, RunSummary[]>();
    for (const run of this.#runs.values()) {
      const { summary } = detailOf(run);
      const name = summary.source?.name;
      if (name !== undefined) bySource.set(name, [...(bySource.get(name) ?? []), summary]);
    }
    return [...bySource].map(([name, runs]) => ({
      dialect: "workflow",
      group: "slipway.dev",
      namespace: "default",
      kind: "WorkflowTemplate",
      name,
      runs,
      medianMs: 95_000,
      successRate: 0.5,
    }));
  }

  #log(): LogPage {
    return { from: 0, lines: this.logLines.map((text) => ({ text })), total: this.logLines.length, isOver: true };
  }
}

const status = (code: number, reason: string, message: string) => ({ kind: "Status", code, reason, message });

function send(response: ServerResponse, value: unknown, code = 200): void {
  response.writeHead(code, { "Content-Type": "application/json" }).end(JSON.stringify(value));
}

const write = (response: ServerResponse, line: StreamLine): boolean => response.write(`${JSON.stringify(line)}\n`);

async function sendFile(response: ServerResponse, name: string): Promise<void> {
  const types: Readonly<Record<string, string>> = {
    html: "text/html; charset=utf-8",
    css: "text/css",
    js: "text/javascript",
  };
  const content = await readFile(files + name);
  const type = types[name.slice(name.lastIndexOf(".") + 1)] ?? "";
  response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": policy }).end(content);
}
