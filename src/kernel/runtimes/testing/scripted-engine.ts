import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { deferred, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/** A container as a test knows it. */
interface Container {
  readonly labels: JsonObject;
  state: "created" | "running" | "exited";
  /** What it has printed, in the engine's copy. */
  printed: string;
}

/** When everything is said to have begun. */
const startedAt = "2026-01-01T00:00:00.000000001Z";

/**
 * A Docker Engine that breaks connections when a test wants it: it knows as many of the answers as the Docker runtime asks for. Containers run until
 * `exit`.
 */
export class ScriptedEngine {
  /** What was asked for, `POST /containers/NAME/kill?signal=SIGKILL`, in order. */
  readonly asked: string[] = [];
  readonly containers = new Map<string, Container>();
  readonly #socketPath: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Map<string, ServerResponse>();
  #listeners = 0;
  #broken: { readonly what: RegExp; readonly isDone: boolean } | undefined;
  #held: { readonly what: RegExp; readonly until: Promise<void> } | undefined;
  /** Takes connections and says nothing. */
  isSilent = false;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#socketPath);
    await once(this.#server, "listening");
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await once(this.#server, "close");
  }

  /** The next request like this is left without an answer: its connection breaks, `isDone` after the engine has done what was asked. */
  breakNext(what: RegExp, isDone = false): void {
    this.#broken = { what, isDone };
  }

  /** The next request like this is answered as things stand when it comes, but not before the function returned is called. */
  holdNext(what: RegExp): () => void {
    const release = deferred<void>();
    this.#held = { what, until: release.promise };
    return release.resolve;
  }

  /** Prints to whoever is attached, and to the engine's copy. */
  print(name: string, text: string): void {
    const container = this.containers.get(name);
    if (container !== undefined) container.printed += text;
    this.#streams.get(`attach ${name}`)?.write(frame(text));
    this.#streams.get(`logs ${name}`)?.write(frame(`${startedAt} ${text}`));
  }

  /** Ends a container as by itself, and tells of it. */
  exit(name: string): void {
    const container = this.containers.get(name);
    if (container === undefined) return;
    container.state = "exited";
    this.cut(name);
    this.#streams
      .get("events")
      ?.write(`${JSON.stringify({ Action: "die", Actor: { Attributes: container.labels } })}\n`);
  }

  /** Ends the streams of a container's output, which may run on. */
  cut(name: string): void {
    for (const kind of ["attach", "logs"]) this.#streams.get(`${kind} ${name}`)?.end();
  }

  /** Connections over which somebody hears of events. */
  get listeners(): number {
    return this.#listeners;
  }

  /** The name of the container of this task. */
  nameOf(task: string): string {
    const found = [...this.containers].find(([, { labels }]) => Object.values(labels).includes(task));
    return found?.[0] ?? "";
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (this.isSilent) return;
    const text = Buffer.concat(pieces).toString();
    const url = (request.url ?? "").replace(/^\/v[\d.]+/, "");
    const what = `${request.method} ${url}`;
    this.asked.push(what);
    const broken = this.#broken?.what.test(what) === true ? this.#broken : undefined;
    if (broken !== undefined) this.#broken = undefined;
    const isTaken = what.includes("/create?") && this.containers.has(givenName(what));
    if (broken?.isDone !== false) this.#do(what, text);
    if (broken !== undefined) return void request.socket.destroy();
    response.statusCode = isTaken ? 409 : 200;
    this.#say(what, response);
  }

  #do(what: string, text: string): void {
    const [, name = "", verb = ""] = /\/containers\/([^/?]+)(?:\/(\w+))?/.exec(what) ?? [];
    if (verb === "start") this.#set(name, "running");
    if (verb === "kill" && what.includes("SIGKILL")) this.exit(name);
    if (what.startsWith("DELETE")) this.containers.delete(name);
    if (name !== "create") return;
    const given = givenName(what);
    const body: unknown = JSON.parse(text);
    const labels = isJsonObject(body) && isJsonObject(body["Labels"]) ? body["Labels"] : {};
    if (!this.containers.has(given)) this.containers.set(given, { labels, state: "created", printed: "" });
  }

  #set(name: string, state: Container["state"]): void {
    const container = this.containers.get(name);
    if (container !== undefined) container.state = state;
  }

  #say(what: string, response: ServerResponse): void {
    const path = what.replace(/^\w+ |\?.*$/g, "");
    const [, name = "", verb = ""] = /^\/containers\/([^/]+)\/(\w+)$/.exec(path) ?? [];
    if (path === "/events") {
      this.#listeners++;
      response.once("close", () => this.#listeners--);
      return this.#open("events", response);
    }
    if (verb === "attach" || verb === "logs") return this.#output(verb, name, response);
    response.setHeader("api-version", "1.41");
    response.setHeader("content-type", "application/json");
    const document = JSON.stringify(this.#document(path, name));
    const held = this.#held?.what.test(what) === true ? this.#held : undefined;
    if (held === undefined) return void response.end(document);
    this.#held = undefined;
    void held.until.then(() => response.end(document));
  }

  #document(path: string, name: string): JsonValue {
    if (path === "/version") return { Version: "20.10", Arch: "amd64", Os: "linux" };
    if (path.startsWith("/networks/")) return { IPAM: { Config: [{ Subnet: "10.0.0.0/24", Gateway: "10.0.0.1" }] } };
    if (path === "/containers/json")
      return [...this.containers].map(([id, { labels, state }]) => ({ Id: id, Labels: labels, State: state }));
    const container = this.containers.get(name);
    if (container === undefined) return { Id: "any" };
    const { labels, state } = container;
    return {
      Config: { Labels: labels },
      Created: startedAt,
      State: {
        Status: state,
        Running: state === "running",
        ExitCode: 0,
        ...(state === "created" ? {} : { StartedAt: startedAt }),
        ...(state === "exited" ? { FinishedAt: startedAt } : {}),
      },
    };
  }

  #output(verb: "attach" | "logs", name: string, response: ServerResponse): void {
    this.#open(`${verb} ${name}`, response);
    const { printed = "", state } = this.containers.get(name) ?? {};
    if (verb === "logs") for (const line of printed.match(/.*\n/g) ?? []) response.write(frame(`${startedAt} ${line}`));
    if (state === "exited") response.end();
  }

  #open(key: string, response: ServerResponse): void {
    response.writeHead(200);
    response.flushHeaders();
    this.#streams.set(key, response);
  }
}

/** Of a container that is to be made. */
const givenName = (what: string): string => new URLSearchParams(what.split("?")[1]).get("name") ?? "";

/** Of standard output. */
function frame(text: string): Buffer {
  const header = Buffer.alloc(8);
  header[0] = 1;
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}
