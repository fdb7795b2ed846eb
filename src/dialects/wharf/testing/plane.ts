import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonObject, type JsonValue, silentLog, systemClock } from "#lib/base/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { ConfigMap, Event, Secret } from "#kernel/model/index.ts";
import type { RpcService } from "#kernel/rpc/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { addBuildControllers, type BuildControllerOptions } from "../builds/controller.ts";
import type { Engine } from "../builds/engines.ts";
import { Records } from "../builds/records.ts";
import { Build, Project, Worker } from "../kinds.ts";
import { BuildStores } from "../api/build-stores.ts";
import { createApi } from "../api/app.ts";
import { Repository } from "../api/repository.ts";
import { resultsOf } from "../api/known-builds.ts";
import type { Api, ApiParts } from "../api/routes/parts.ts";
import { SmallRecords } from "../api/small-records.ts";
import { logService } from "../results-api/log-service.ts";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Stands for a provisioner. */
export class TestEngine {
  readonly asked: Asked[] = [];
  refusal: { readonly status: number; readonly body: string } | undefined;
  /** Drops connections without an answer. */
  isMute = false;
  /** Runs while a request is being answered. */
  meanwhile: (() => Promise<unknown>) | undefined;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<TestEngine> {
    const server = createServer();
    const engine = new TestEngine(server);
    server.on("request", (request, response) => {
      void readBody(request).then(async (text) => {
        const { pathname, searchParams } = new URL(request.url ?? "/", "http://engine");
        const parameters = Object.fromEntries([...searchParams, ...new URLSearchParams(text)]);
        const { refusal } = engine;
        const isQuestion = request.method === "GET";
        if (!isQuestion) engine.asked.push({ method: request.method ?? "", path: pathname, parameters });
        if (!isQuestion) await engine.meanwhile?.();
        // Callers first check how to ask.
        if (isQuestion) response.writeHead(404, { "content-type": "application/problem+json" }).end("{}");
        else if (engine.isMute) request.socket.destroy();
        else if (pathname.startsWith("/refuses")) response.writeHead(409).end("no");
        else if (refusal !== undefined) response.writeHead(refusal.status).end(refusal.body);
        else if (request.method === "DELETE") response.writeHead(204).end();
        else
          response
            .writeHead(201)
            .end(JSON.stringify({ workerId: `wharf-cmd-worker-local-${parameters["BUILD_REF"]}` }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    return engine;
  }

  get engine(): Engine {
    const { port } = this.#server.address() as AddressInfo;
    return { id: "primary", name: "Primary", url: `http://127.0.0.1:${port}/api/worker`, api: "wharf-cmd.v1" };
  }

  get refusing(): Engine {
    const url = this.engine.url.replace("/api/worker", "/refuses");
    return { id: "secondary", name: "Secondary", url, api: "jenkins-generic-webhook-trigger" };
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

interface PlaneChoice extends Pick<BuildControllerOptions, "triggerDeadlineMs"> {
  readonly controls?: boolean;
}

/** wharf-api and build controllers on an API in memory. Must be closed. */
export class TestPlane {
  readonly store: MemoryClient = memoryClient({
    clock: systemClock,
    types: [Project, Build, Worker, RunAction, Secret, ConfigMap, Event],
  });
  readonly audited: JsonObject[] = [];
  readonly removed: number[] = [];
  readonly manager: Manager;
  readonly api: Api;
  readonly services: readonly RpcService[];
  readonly stores: BuildStores;
  readonly directory = mkdtempSync(join(tmpdir(), "slipway-wharf-api-"));
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(engines: readonly Engine[], { controls = true, ...more }: PlaneChoice = {}) {
    this.manager = new Manager({ client: this.store, clock: systemClock, log: silentLog, random: seededRandom(1) });
    const records = new Records(this.manager);
    const namespace = "default";
    const stores = new BuildStores({ directory: this.directory, clock: systemClock, log: silentLog });
    this.stores = stores;
    const kept = {
      remove: async (id: number) => {
        this.removed.push(id);
        await stores.remove(id);
      },
    };
    const { client } = this.manager;
    const audit = (entry: JsonObject): void => void this.audited.push(entry);
    const start = { client, records, engines, instance: "local", audit };
    if (controls) addBuildControllers(this.manager, { ...start, ...more, kept });
    const parts: ApiParts = {
      repository: new Repository({ client, records, clock: systemClock, namespace }),
      start,
      tokens: new SmallRecords("token", this.manager, namespace),
      providers: new SmallRecords("provider", this.manager, namespace),
      stores,
      version: "0.0.0",
      clock: systemClock,
      log: silentLog,
    };
    this.api = createApi(parts);
    this.services = [logService(resultsOf(parts))];
    this.#running = this.manager.run(this.#stop.signal);
  }

  async synced(): Promise<this> {
    await this.manager.informers.synced(this.#stop.signal);
    return this;
  }

  async ask(
    method: string,
    path: string,
    body?: JsonValue,
  ): Promise<{ readonly status: number; readonly body: JsonObject }> {
    const request = {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    };
    const response = await this.api.request(path, request, {});
    const text = await response.text();
    return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as JsonObject) };
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running;
    await this.stores.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}
