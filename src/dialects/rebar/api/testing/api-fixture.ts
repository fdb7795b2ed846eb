import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import type { IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonValue, ok, textAt, silentLog, systemClock } from "#lib/base/index.ts";
import { connectText, type TextSocket } from "#kernel/websocket/index.ts";
import { selfSignedPair } from "#kernel/doors/index.ts";
import { openJobLogs } from "../../job-logs.ts";
import { openActions } from "../../plugins/actions.ts";
import type { Renderer } from "../../render.ts";
import { createSecureParams } from "../../secure/secure-params.ts";
import type { OpenStore } from "../../store/open-store.ts";
import { openOver, rebarMemory } from "../../store/testing/store-fixture.ts";
import { openRebarApi, type RebarApi } from "../open-rebar-api.ts";

export interface Reply {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; null if it is none. */
  readonly json: JsonValue;
}

export interface Ask {
  /** Sent as JSON. */
  readonly body?: JsonValue;
  readonly bytes?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the first user's password. Empty: none. */
  readonly auth?: string;
}

export const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

export const firstUser = { name: "rocketskates", password: "r0cketsk8ts" };

/** Returns templates as they are written. */
export const plainRenderer: Renderer = {
  actions: (world, { collection, name, os }) => {
    const templates = world.get(collection, name)?.Templates ?? [];
    const kept = templates.filter(({ Meta }) => os === "" || Meta["OS"] === undefined || Meta["OS"].includes(os));
    return Promise.resolve(ok(kept.map(({ Name, Path, Contents, Meta }) => ({ Name, Path, Content: Contents, Meta }))));
  },
  check: () => Promise.resolve([]),
};

/** The API over a real listener and a store in memory. */
export class ApiFixture {
  readonly store: OpenStore;
  readonly root: string;
  readonly api: RebarApi;
  /** What was told of machines' agents. */
  readonly presence: readonly string[];
  readonly agent = new Agent({ keepAlive: true, rejectUnauthorized: false });

  readonly #closeLogs: () => Promise<void>;

  private constructor(
    store: OpenStore,
    root: string,
    api: RebarApi,
    presence: readonly string[],
    closeLogs: () => Promise<void>,
  ) {
    this.presence = presence;
    this.#closeLogs = closeLogs;
    this.store = store;
    this.root = root;
    this.api = api;
  }

  static async open(): Promise<ApiFixture> {
    const root = await mkdtemp(join(tmpdir(), "slipway-rebar-api-"));
    const logs = openJobLogs(join(root, "logs"));
    const store = await openOver(rebarMemory(), { firstUser, renderer: plainRenderer, logs });
    const secure = createSecureParams({
      world: store.world,
      sealKey: (collection, key) => store.sealKey(collection, key),
    });
    const presence: string[] = [];
    const api = await openRebarApi({
      agents: {
        heard: (machine) => void presence.push(`heard ${machine}`),
        streamed(machine) {
          presence.push(`stream of ${machine}`);
          return () => void presence.push(`stream of ${machine} ended`);
        },
      },
      store,
      renderer: plainRenderer,
      logs,
      accounts: store,
      secure,
      actions: openActions({
        store,
        allowExec: true,
        clock: systemClock,
        secure,
      }),
      dataDirectory: root,
      https: { address: "127.0.0.1:0", tls: await selfSignedPair(join(root, "pki"), "rebar", systemClock.now()) },
      http: { address: "127.0.0.1:0" },
      facts: { id: "test", address: "127.0.0.1", hostname: "test", arch: "amd64", os: "linux" },
      clock: systemClock,
      log: silentLog,
    });
    return new ApiFixture(store, root, api, presence, () => logs.close());
  }

  ask(method: string, path: string, { body, bytes, headers = {}, auth }: Ask = {}): Promise<Reply> {
    const sent = body === undefined ? bytes : Buffer.from(JSON.stringify(body));
    const authorization = auth ?? basic(firstUser.name, firstUser.password);
    return new Promise((resolve, reject) => {
      const request = httpsRequest({
        host: "127.0.0.1",
        port: this.api.https.port,
        agent: this.agent,
        method,
        path: `/api/v3${path}`,
        headers: {
          ...(authorization === "" ? {} : { authorization }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(sent === undefined ? {} : { "content-length": String(sent.length) }),
          ...headers,
        },
      });
      request.on("error", reject);
      request.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({ code: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) });
        });
      });
      request.end(sent);
    });
  }

  /** A machine, and a token that speaks for it. */
  async machine(body: Readonly<Record<string, JsonValue>>): Promise<{ readonly uuid: string; readonly auth: string }> {
    const { json } = await this.ask("POST", "/machines", { body });
    const uuid = textAt(json, "Uuid") ?? "";
    const { json: answered } = await this.ask("GET", `/machines/${uuid}/token`);
    return { uuid, auth: `Bearer ${textAt(answered, "Token")}` };
  }

  events(headers: Readonly<Record<string, string>>): Promise<TextSocket> {
    return connectText({
      url: `https://127.0.0.1:${this.api.https.port}/api/v3/ws`,
      headers,
      agent: this.agent,
      clock: systemClock,
      signal: AbortSignal.timeout(20_000),
    });
  }

  async close(): Promise<void> {
    this.agent.destroy();
    await this.api.close();
    await this.store.close();
    await this.#closeLogs();
    await rm(this.root, { recursive: true, force: true });
  }
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // Not every answer is JSON.
    return null;
  }
}
