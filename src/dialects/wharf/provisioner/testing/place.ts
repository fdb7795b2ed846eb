import { FakeClock, type JsonValue, type LogFields, silentLog } from "#lib/base/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { memoryClient, type MemoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { addProvisioner } from "../add-provisioner.ts";
import { Build, Worker } from "../../kinds.ts";
import { createProvisionerApi } from "../rest.ts";
import { type ProvisionerSettings, usualSettings } from "../settings.ts";
import { FakeBackend } from "./fake-backend.ts";

export interface Answered {
  readonly status: number;
  readonly body: JsonValue;
}

/** A provisioner on an API in memory with a fake clock. */
export class Place {
  readonly clock = new FakeClock();
  readonly store: MemoryClient;
  readonly logged: string[] = [];
  #backend: FakeBackend | undefined;
  #api: ReturnType<typeof createProvisionerApi> | undefined;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  readonly #settings: ProvisionerSettings;
  #starts = 0;

  constructor(settings: Partial<ProvisionerSettings> = {}) {
    this.store = memoryClient({ clock: this.clock, types: [Worker, Build] });
    this.#settings = { ...usualSettings, ...settings };
  }

  get backend(): FakeBackend {
    if (this.#backend === undefined) throw new Error("nothing was started");
    return this.#backend;
  }

  async start(): Promise<void> {
    const note = (message: string, fields?: LogFields) => void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const log = { ...silentLog, info: note, warn: note, error: note };
    this.#stop = new AbortController();
    const random = seededRandom(++this.#starts);
    const manager = new Manager({ client: this.store, clock: this.clock, log, random });
    const before = this.#backend;
    const parts = addProvisioner(manager, {
      settings: this.#settings,
      backend: (changed) => (this.#backend = before ?? new FakeBackend(changed)),
    });
    this.#api = createProvisionerApi({ ...parts, log });
    this.#running = manager.run(this.#stop.signal);
    await manager.informers.synced(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async ask(method: string, path: string, body?: string | URLSearchParams, contentType?: string): Promise<Answered> {
    const headers = contentType === undefined ? {} : { "content-type": contentType };
    const request = new Request(`http://provisioner${path}`, {
      method,
      ...(body === undefined ? {} : { body, headers }),
    });
    const response = await this.#api?.fetch(request);
    const text = (await response?.text()) ?? "";
    return { status: response?.status ?? 0, body: text === "" ? null : (JSON.parse(text) as JsonValue) };
  }

  post(parameters: Readonly<Record<string, string>>): Promise<Answered> {
    return this.ask(
      "POST",
      `/api/worker?${new URLSearchParams({ GIT_FULLURL: "https://example.org/a/b.git", ...parameters }).toString()}`,
    );
  }

  async workers() {
    return (await this.store.list<Worker>(Worker)).items;
  }
}
