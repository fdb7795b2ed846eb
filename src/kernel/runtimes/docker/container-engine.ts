import { type Clock, err, type JsonObject, ok, type Result } from "#lib/base/index.ts";
import type { Rotation } from "#kernel/logs/index.ts";
import type { ImageFacts, RegistryLogin } from "../contract.ts";
import { type AddressSurroundings, engineAddress, formatAddress, isLocal } from "./engine/engine-address.ts";
import { EngineClient } from "./engine/engine-client.ts";
import { EngineRefusal, isRefusal } from "./engine/engine-errors.ts";
import { listOf, objectOf, textOf } from "./engine/members.ts";
import { findImage, pullImage } from "./images.ts";
import { type ContainerLife, lifeOf, notStarted } from "./outcome.ts";
import { attachOutput, type Output, readBackOutput } from "./output.ts";
import { labelsOf } from "./sandboxes.ts";

/** A container as the engine knows it. */
export interface EngineContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly life: ContainerLife;
}

/** What is to become of what a container prints. */
export interface ContainerLog {
  readonly path: string;
  readonly rotation: Rotation;
  /** Values that do not get into it. */
  readonly masked: readonly string[];
}

/** What the engine says against what it was asked for, in its own words. */
export interface Refused {
  readonly message: string;
  /** As far as its words tell, the program is not in the image. */
  readonly isProgramMissing: boolean;
}

/**
 * A Docker Engine for callers whose containers are described by somebody else's rules, names and labels included. Nothing is remembered
 * here. What the engine says against a container is a value; rejections are trouble with the engine, which may pass.
 */
export class ContainerEngine {
  /** For people. */
  readonly address: string;
  /** The engine sees this machine's files. */
  readonly isLocal: boolean;
  readonly #client: EngineClient;
  readonly #clock: Clock;

  /** Throws `engine-address`; whether anybody answers there is seen by the first call. */
  constructor(surroundings: AddressSurroundings, clock: Clock) {
    const address = engineAddress(surroundings);
    if (!address.ok) throw address.error;
    this.address = formatAddress(address.value);
    this.isLocal = isLocal(address.value);
    this.#client = new EngineClient(address.value);
    this.#clock = clock;
  }

  /** Of the engine, as it says itself. */
  async version(): Promise<string> {
    return textOf(await this.#client.object("GET", "/version"), "Version");
  }

  findImage(image: string): Promise<ImageFacts | undefined> {
    return findImage(this.#client, image);
  }

  /** Rejects with `image-pull`, which has the registry's words, or the signal's reason. */
  async pull(image: string, login: RegistryLogin | undefined, signal: AbortSignal): Promise<void> {
    await pullImage(this.#client, image, login === undefined ? [] : [login], signal);
  }

  /** Settings are the body of `POST /containers/create`. The value is the id. */
  create(name: string, settings: JsonObject): Promise<Result<string, Refused>> {
    return judged(async () => {
      const made = await this.#client.object("POST", "/containers/create", { query: { name }, body: settings });
      return textOf(made, "Id");
    });
  }

  /** By name or id. */
  async find(container: string): Promise<EngineContainer | undefined> {
    try {
      const found = await this.#client.object("GET", `/containers/${container}/json`);
      return { id: textOf(found, "Id"), labels: labelsOf(objectOf(found, "Config")), life: lifeOf(found) };
    } catch (thrown) {
      if (isRefusal(thrown, 404)) return undefined;
      throw thrown;
    }
  }

  /** Names of all containers with this label, `key=value`. */
  async namesWith(label: string): Promise<readonly string[]> {
    const query = { all: "1", filters: JSON.stringify({ label: [label] }) };
    const found = listOf(await this.#client.call("GET", "/containers/json", { query }));
    return found
      .flatMap(({ Names: names }) => (Array.isArray(names) ? names : []))
      .map((name) => String(name).slice(1));
  }

  /** One that runs is no error. */
  start(container: string): Promise<Result<void, Refused>> {
    return judged(async () => void (await this.#client.call("POST", `/containers/${container}/start`)));
  }

  /** One that does not run, or is not there, is no error. */
  async signal(container: string, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    try {
      await this.#client.call("POST", `/containers/${container}/kill`, { query: { signal } });
    } catch (thrown) {
      if (!isRefusal(thrown, 404) && !isRefusal(thrown, 409)) throw thrown;
    }
  }

  /** Resolves when it does not run, at once when it was never started or is not there. */
  async ended(container: string): Promise<void> {
    try {
      const answer = await this.#client.stream("POST", `/containers/${container}/wait`);
      for await (const _chunk of answer) void _chunk;
    } catch (thrown) {
      if (!isRefusal(thrown, 404)) throw thrown;
    }
  }

  /** With the volumes that have no name; one that runs is killed. Unknown ones are no error, nor are those that somebody else removes. */
  async remove(container: string): Promise<void> {
    try {
      await this.#client.call("DELETE", `/containers/${container}`, { query: { force: "1", v: "1" } });
    } catch (thrown) {
      if (!isRefusal(thrown, 404) && !isRefusal(thrown, 409)) throw thrown;
    }
  }

  /** Before the start; every byte from the first one on. */
  attach(container: string, log: ContainerLog): Promise<Output> {
    return attachOutput(this.#client, container, log, this.#clock);
  }

  /** After the start: the log is written anew from the engine's copy, and goes on until the container ends. */
  readBack(container: string, log: ContainerLog): Promise<Output> {
    return readBackOutput(this.#client, container, log, this.#clock);
  }

  close(): void {
    this.#client.close();
  }
}

async function judged<T>(work: () => Promise<T>): Promise<Result<T, Refused>> {
  try {
    return ok(await work());
  } catch (thrown) {
    if (!(thrown instanceof EngineRefusal)) throw thrown;
    const outcome = notStarted(thrown.message, 0);
    return err({ message: thrown.message, isProgramMissing: outcome.kind === "not-started" && outcome.code === 127 });
  }
}
