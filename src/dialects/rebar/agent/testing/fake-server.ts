import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { isJsonObject, type JsonObject, type JsonValue, systemClock, textAt } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import { applyJsonPatch } from "#lib/json/index.ts";
import { acceptText, type TextSocket } from "#kernel/websocket/index.ts";
import { testCertificate, testKey } from "./certificate.ts";

/** One request as the server got it: `PATCH machines/1f…`. */
export interface Seen {
  readonly what: string;
  readonly body: JsonValue;
}

/** A small `/api/v3` in memory, for one machine: jobs are made for its Tasks in turn. Events carry no objects. */
export class FakeServer {
  readonly machine: string = newUid();
  readonly seen: Seen[] = [];
  /** By `collection/key`. */
  readonly objects = new Map<string, JsonObject>();
  readonly params = new Map<string, JsonValue>();
  /** By job. */
  readonly logs = new Map<string, string>();
  /** Actions by task. */
  readonly actions = new Map<string, readonly JsonObject[]>();
  /** Refuses a request once: `what` by prefix. */
  readonly refusals: { readonly what: string; readonly code: number; readonly messages: readonly string[] }[] = [];
  /** Requests, by prefix, whose answer is lost once. */
  readonly losses: string[] = [];
  readonly #sockets = new Set<TextSocket>();
  readonly #server = createServer({ cert: testCertificate, key: testKey });

  constructor(machine: JsonObject) {
    const usual = { Name: "m1.example", Workflow: "w", Stage: "s", BootEnv: "local", Context: "", CurrentTask: -1 };
    const state = { CurrentJob: "", Runnable: true, Available: true, Tasks: [], Profiles: [] };
    const Meta = { "feature-flags": "change-stage-v2" };
    this.objects.set(`machines/${this.machine}`, { Uuid: this.machine, ...usual, ...state, Meta, ...machine });
    this.#server.on("request", (request, response) => void this.#answer(request, response));
    this.#server.on("upgrade", (request: IncomingMessage, socket, head) => {
      void acceptText({ request, socket, head }, systemClock).then((text) => this.#serve(text));
    });
  }

  /** Resolves with the endpoint. */
  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(port, "127.0.0.1", resolve));
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.cut();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }

  /** A task with scripts and files, as `GET /jobs/U/actions` returns them. */
  addTask(name: string, actions: readonly JsonObject[], flags = "sane-exit-codes"): void {
    this.objects.set(`tasks/${name}`, { Name: name, Meta: { "feature-flags": flags } });
    const whole = actions.map((action) => ({ Name: name, Path: "", Content: "", Meta: {}, ...action }));
    this.actions.set(name, whole);
  }

  get machineObject(): JsonObject {
    return this.objects.get(`machines/${this.machine}`) ?? {};
  }

  /** Jobs in the order of their creation. */
  get jobs(): readonly JsonObject[] {
    return [...this.objects].filter(([key]) => key.startsWith("jobs/")).map(([, job]) => job);
  }

  change(key: string, members: JsonObject): void {
    this.objects.set(key, { ...this.objects.get(key), ...members });
    this.#publish(key.split("/")[0] ?? "", "update", key.split("/")[1] ?? "");
  }

  /** Publishes an event to everybody who is connected. */
  #publish(Type: string, Action: string, Key: string): void {
    const event = { Time: "", Type, Action, Key, Principal: "internal", Object: null, Original: null };
    for (const socket of this.#sockets) void socket.send(JSON.stringify(event));
  }

  #serve(socket: TextSocket): void {
    this.#sockets.add(socket);
    void socket.closed.then(() => this.#sockets.delete(socket));
    socket.listen((text) => {
      const [verb = "", filter = ""] = text.split(" ");
      void socket.send(JSON.stringify({ Type: "websocket", Action: verb, Key: filter }));
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const url = new URL(request.url ?? "", "https://localhost");
    const path = decodeURIComponent(url.pathname.replace(/^\/api\/v3\//, ""));
    const bytes = Buffer.concat(pieces).toString("utf8");
    const isJson = request.headers["content-type"] === "application/json" && bytes !== "";
    const body = isJson ? (JSON.parse(bytes) as JsonValue) : bytes;
    const what = `${request.method} ${path}`;
    this.seen.push({ what: `${what}${url.search}`, body });
    const refusal = this.refusals.findIndex((each) => what.startsWith(each.what));
    const [refused] = refusal < 0 ? [] : this.refusals.splice(refusal, 1);
    const [code, answer] =
      refused === undefined ? this.#result(what, path, body) : refusedBy(refused.code, path, refused.messages);
    const lost = this.losses.findIndex((each) => what.startsWith(each));
    if (lost >= 0) {
      this.losses.splice(lost, 1);
      request.socket.destroy();
      return;
    }
    const counted = Array.isArray(answer) ? { "x-drp-list-filter-count": `${answer.length}` } : {};
    response.writeHead(code, { "content-type": "application/json", ...counted });
    response.end(code === 204 || request.method === "HEAD" ? undefined : JSON.stringify(answer));
  }

  #result(what: string, path: string, body: JsonValue): readonly [number, JsonValue] {
    const [collection = "", key = "", part = "", ...rest] = path.split("/");
    if (collection === "users" && part === "token") return [200, { Token: `token-of-${key}` }];
    if (what === "POST jobs") return this.#nextJob(body as JsonObject);
    if (part === "log" && what.startsWith("PUT")) {
      this.logs.set(key, (this.logs.get(key) ?? "") + (typeof body === "string" ? body : JSON.stringify(body)));
      return [204, null];
    }
    if (part === "actions")
      return [200, [...(this.actions.get(textAt(this.objects.get(`jobs/${key}`), "Task") ?? "") ?? [])]];
    if (part === "params" && what.startsWith("POST")) this.params.set(rest.join("/"), body);
    if (part === "params") return [200, this.params.get(rest.join("/")) ?? null];
    if (collection === "meta") return this.#partOf(`${key}/${part}`, "Meta", what, body);
    if (key === "" && what.startsWith("POST")) return this.#create(collection, body as JsonObject);
    const list = [...this.objects].filter(([name]) => name.startsWith(`${collection}/`)).map(([, object]) => object);
    if (key === "") return [200, list];
    const name = `${collection}/${key}`;
    const object = this.objects.get(name);
    if (object === undefined) return refusedBy(404, path, ["Not Found"]);
    if (what.startsWith("DELETE")) this.objects.delete(name);
    return what.startsWith("PATCH") ? this.#patch(name, object, body) : [200, object];
  }

  #create(collection: string, object: JsonObject): readonly [number, JsonValue] {
    this.objects.set(`${collection}/${textAt(object, "Name") ?? textAt(object, "Uuid") ?? ""}`, object);
    return [201, object];
  }

  /** A map of an object that has an address of its own. */
  #partOf(name: string, part: string, what: string, patch: JsonValue): readonly [number, JsonValue] {
    const object = this.objects.get(name) ?? {};
    if (!what.startsWith("PATCH")) return [200, object[part] ?? {}];
    const changed = applyJsonPatch(object[part] ?? {}, patch);
    if (!changed.ok) return refusedBy(409, name, [changed.error.message]);
    this.change(name, { [part]: changed.value });
    return [200, changed.value];
  }

  #patch(name: string, object: JsonObject, patch: JsonValue): readonly [number, JsonValue] {
    const changed = applyJsonPatch(object, patch);
    if (!changed.ok) return refusedBy(409, name, [changed.error.message]);
    if (!isJsonObject(changed.value)) return refusedBy(406, name, ["no object"]);
    this.objects.set(name, changed.value);
    if (name.startsWith("jobs/") && changed.value["State"] === "failed")
      this.change(`machines/${this.machine}`, { Runnable: false });
    const [collection = "", key = ""] = name.split("/");
    this.#publish(collection, "update", key);
    return [200, changed.value];
  }

  #nextJob(given: JsonObject): readonly [number, JsonValue] {
    const machine = this.machineObject;
    const tasks = machine["Tasks"] as readonly string[];
    const [current, job] = [
      Number(machine["CurrentTask"]),
      this.objects.get(`jobs/${textAt(machine, "CurrentJob") ?? ""}`),
    ];
    if (machine["Runnable"] !== true) return refusedBy(409, `machines/${this.machine}`, ["is not runnable"]);
    if (machine["Context"] !== (given["Context"] ?? "") || current >= tasks.length) return [204, null];
    const state = current < 0 ? "failed" : job?.["State"];
    if (state === "incomplete" && job !== undefined) return [202, job];
    if (state === "created" || state === "running")
      return refusedBy(409, "jobs", ["already has running or created job"]);
    const next = current < 0 ? 0 : state === "finished" ? current + 1 : current;
    if (next >= tasks.length) {
      this.change(`machines/${this.machine}`, { CurrentTask: next });
      return [204, null];
    }
    const Uuid = typeof given["Uuid"] === "string" ? given["Uuid"] : newUid();
    const { Workflow = "", Stage = "", Context = "" } = machine;
    const place = { Task: tasks[next] ?? "", CurrentIndex: next, Workflow, Stage, Context, Machine: this.machine };
    const made = { Uuid, State: "created", ExitState: "", Meta: {}, ...place };
    this.objects.set(`jobs/${Uuid}`, made);
    this.change(`machines/${this.machine}`, { CurrentTask: next, CurrentJob: Uuid });
    return [201, made];
  }
}

function refusedBy(Code: number, path: string, messages: readonly string[]): readonly [number, JsonValue] {
  const [Model = "", Key = ""] = path.split("/");
  return [Code, { Model, Key, Type: "Conflict", Messages: [...messages], Code }];
}
