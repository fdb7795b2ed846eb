import { type Clock, err, type Instant, type JsonObject, type Millis, ok, type Result } from "#lib/base/index.ts";
import type { Rotation } from "#kernel/streams/index.ts";
import type { ImageFacts, RegistryLogin } from "../contract.ts";
import { type AddressSurroundings, engineAddress, formatAddress, isLocal } from "./engine/engine-address.ts";
import { getFiles, modifiedAt, putFiles } from "./container-files.ts";
import { OutputReader, type OutputSink } from "./container-output.ts";
import { EngineClient } from "./engine/engine-client.ts";
import { EngineRefusal, isRefusal } from "./engine/engine-errors.ts";
import { jsonLines } from "./engine/json-lines.ts";
import { listOf, objectOf, textOf } from "./engine/members.ts";
import { buildImage, type ImageBuild, pushImage } from "./image-builds.ts";
import { findImage, pullImage } from "./images.ts";
import { type ContainerLife, endedUnheard, lifeOf, mayHaveRunOutOfMemory, notStarted } from "./outcome.ts";
import { attachOutput, type Output, readBackOutput } from "./output.ts";
import { labelsOf } from "./sandboxes.ts";

export interface EngineContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly life: ContainerLife;
  /** Published ports while it runs: `5010/tcp` at `127.0.0.1:49152`. */
  readonly ports: Readonly<Record<string, string | undefined>>;
}

export interface ContainerLog {
  readonly path: string;
  readonly rotation: Rotation;
  /** Values masked in the log. */
  readonly masked: readonly string[];
}

/** The engine's refusal, in its own words. */
export interface Refused {
  readonly message: string;
  /** Judged by the words: the program is not in the image. */
  readonly isProgramMissing: boolean;
}

/** A Docker Engine for callers who describe containers. A refused container is a value; other trouble may pass. */
export class ContainerEngine {
  readonly address: string;
  /** The engine sees this machine's files. */
  readonly isLocal: boolean;
  readonly #client: EngineClient;
  readonly #clock: Clock;

  /** Throws `engine-address`; the first call shows whether the engine answers. */
  constructor(surroundings: AddressSurroundings, clock: Clock) {
    const address = engineAddress(surroundings);
    if (!address.ok) throw address.error;
    this.address = formatAddress(address.value);
    this.isLocal = isLocal(address.value);
    this.#client = new EngineClient(address.value, clock);
    this.#clock = clock;
  }

  async version(): Promise<string> {
    return textOf(await this.#client.object("GET", "/version"), "Version");
  }

  /** `linux`, `windows`: the platform of its containers. */
  async system(signal: AbortSignal): Promise<string> {
    return textOf(await this.#client.object("GET", "/version", { signal }), "Os");
  }

  findImage(image: string): Promise<ImageFacts | undefined> {
    return findImage(this.#client, image);
  }

  /** Tries the logins in turn. Rejects with `image-pull` and the registry's words, or the signal's reason. */
  async pull(image: string, logins: readonly RegistryLogin[], signal: AbortSignal): Promise<void> {
    await pullImage(this.#client, image, logins, signal);
  }

  /** Rejects with `image-build` and the builder's words, or the signal's reason. */
  async build(build: ImageBuild, onText: (text: string) => void, signal: AbortSignal): Promise<void> {
    await buildImage(this.#client, build, onText, signal);
  }

  /** Rejects with `image-push` and the registry's words, or the signal's reason. */
  async push(
    image: string,
    login: RegistryLogin | undefined,
    onText: (text: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await pushImage(this.#client, image, login, onText, signal);
  }

  /** `settings` is the body of `POST /containers/create`. Returns the id. */
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
      return {
        id: textOf(found, "Id"),
        labels: labelsOf(objectOf(found, "Config")),
        life: lifeOf(found),
        ports: portsOf(found),
      };
    } catch (thrown) {
      if (isRefusal(thrown, 404)) return undefined;
      throw thrown;
    }
  }

  /** Names of all containers with the label `key=value`. */
  async namesWith(label: string): Promise<readonly string[]> {
    const query = { all: "1", filters: JSON.stringify({ label: [label] }) };
    const found = listOf(await this.#client.call("GET", "/containers/json", { query }));
    return found
      .flatMap(({ Names: names }) => (Array.isArray(names) ? names : []))
      .map((name) => String(name).slice(1));
  }

  /** All containers with the labels `key=value`, running or not. */
  async containersWith(...label: readonly string[]): Promise<readonly Pick<EngineContainer, "id" | "labels">[]> {
    const query = { all: "1", filters: JSON.stringify({ label }) };
    const found = listOf(await this.#client.call("GET", "/containers/json", { query }));
    return found.map((container) => ({ id: textOf(container, "Id"), labels: labelsOf(container) }));
  }

  /** A running container is no error. */
  start(container: string): Promise<Result<void, Refused>> {
    return judged(async () => void (await this.#client.call("POST", `/containers/${container}/start`)));
  }

  /** A container that is not running or missing is no error. */
  async signal(container: string, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    try {
      await this.#client.call("POST", `/containers/${container}/kill`, { query: { signal } });
    } catch (thrown) {
      if (!isRefusal(thrown, 404) && !isRefusal(thrown, 409)) throw thrown;
    }
  }

  /** Stops it with the image's signal, and kills it after the grace, in whole seconds. Resolves when it has stopped. */
  async stop(container: string, grace: Millis): Promise<void> {
    const query = { t: `${Math.ceil(grace / 1000)}` };
    try {
      await this.#client.call("POST", `/containers/${container}/stop`, { query, lastsMs: grace });
    } catch (thrown) {
      if (!isRefusal(thrown, 404)) throw thrown;
    }
  }

  /** Resolves when it does not run, also if it was never started or is missing. */
  async ended(container: string): Promise<void> {
    try {
      const answer = await this.#client.stream("POST", `/containers/${container}/wait`);
      for await (const _chunk of answer) void _chunk;
    } catch (thrown) {
      if (!isRefusal(thrown, 404)) throw thrown;
    }
  }

  /** Kills and removes it with its anonymous volumes. A missing or already removed container is no error. */
  async remove(container: string): Promise<void> {
    try {
      await this.#client.call("DELETE", `/containers/${container}`, { query: { force: "1", v: "1" } });
    } catch (thrown) {
      if (!isRefusal(thrown, 404) && !isRefusal(thrown, 409)) throw thrown;
    }
  }

  /** A missing volume, or one in use, which stays, is no error. */
  async removeVolume(name: string): Promise<void> {
    try {
      await this.#client.call("DELETE", `/volumes/${name}`);
    } catch (thrown) {
      if (!isRefusal(thrown, 404) && !isRefusal(thrown, 409)) throw thrown;
    }
  }

  /** Names of all volumes with the label `key=value`. */
  async volumesWith(label: string): Promise<readonly string[]> {
    const query = { filters: JSON.stringify({ label: [label] }) };
    return listOf(await this.#client.call("GET", "/volumes", { query }), "Volumes").map((one) => textOf(one, "Name"));
  }

  /** Before the start; every byte from the first on. */
  attach(container: string, log: ContainerLog): Promise<Output> {
    return attachOutput(this.#client, container, log, this.#clock);
  }

  /** After the start: the log is rewritten from the engine's copy and continued until the container ends. */
  readBack(container: string, log: ContainerLog): Promise<Output> {
    return readBackOutput(this.#client, container, log, this.#clock);
  }

  /**
   * Whether the kernel killed an ended container that nobody here has killed, for its use of memory. The engine may
   * learn of it a little after the end, so that this takes a moment if it is likely.
   */
  async ranOutOfMemory(container: string, life: ContainerLife): Promise<boolean> {
    if (life.outOfMemory || !mayHaveRunOutOfMemory(life)) return life.outOfMemory;
    if (endedUnheard(life)) return true;
    const until = Math.ceil((this.#clock.now() + lateWord) / 1000);
    const filters = JSON.stringify({ container: [container], event: ["oom"] });
    const query = { since: `${Math.floor((life.startedAt ?? 0) / 1000)}`, until: `${until}`, filters };
    const events = await this.#client.stream("GET", "/events", { query });
    for await (const _event of jsonLines(events)) return true;
    return false;
  }

  /** After the start: pieces with the engine's times. */
  output(container: string, sink: OutputSink): OutputReader {
    return new OutputReader(this.#client, container, sink);
  }

  /** See `container-files.ts`. */
  putFiles(container: string, path: string, tar: Buffer | AsyncIterable<Buffer>, signal?: AbortSignal): Promise<void> {
    return putFiles(this.#client, container, path, tar, signal);
  }

  /** Undefined if nothing is at the path. */
  getFiles(container: string, path: string): Promise<AsyncIterable<Buffer> | undefined> {
    return getFiles(this.#client, container, path);
  }

  /** Undefined if nothing is at the path. */
  modifiedAt(container: string, path: string): Promise<Instant | undefined> {
    return modifiedAt(this.#client, container, path);
  }

  close(): void {
    this.#client.close();
  }
}

/** The first address of each published port. */
function portsOf(container: JsonObject): EngineContainer["ports"] {
  const published = objectOf(objectOf(container, "NetworkSettings"), "Ports");
  return Object.fromEntries(
    Object.keys(published).flatMap((port) => {
      const [first] = listOf(published, port);
      return first === undefined ? [] : [[port, `${textOf(first, "HostIp")}:${textOf(first, "HostPort")}`]];
    }),
  );
}

/** How late the engine may learn of a kill by the kernel. */
const lateWord: Millis = 1_000;

async function judged<T>(work: () => Promise<T>): Promise<Result<T, Refused>> {
  try {
    return ok(await work());
  } catch (thrown) {
    if (!(thrown instanceof EngineRefusal)) throw thrown;
    const outcome = notStarted(thrown.message, 0);
    return err({ message: thrown.message, isProgramMissing: outcome.kind === "not-started" && outcome.code === 127 });
  }
}
