// A started container is the worker and stays until the worker is removed. Results are on a volume and are copied
// here after the program has ended.

import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { readTar } from "#kernel/artifacts/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { type Clock, type Logger, messageOf } from "#lib/base/index.ts";
import type { ContainerEngine, EngineContainer, RegistryLogin } from "#kernel/runtimes/index.ts";
import { buildFile } from "../../results/results.ts";
import { readDocument } from "../../results/stored-documents.ts";
import { ownerLabel } from "../../worker/docker/owner-label.ts";
import { instanceLabel, stepLabel } from "../../worker/step-labels.ts";
import { tcpConnect } from "../../worker-api/tcp-connect.ts";
import type { Ending, Observed, WorkerBackend, WorkerIdentity } from "../backend.ts";
import { EndedResults, type ServedResults } from "../ended-results.ts";
import { provisionerError } from "../errors.ts";
import { lastOutput, type LaunchRequest, outputFile, ownerFile, resultsDirectory } from "../host/worker-directory.ts";
import type { WorkerRequest } from "../parameters.ts";
import { type AskedWorker, askForBuild, askToCancel } from "../worker-client.ts";
import { buildLabel, projectLabel, workerUidLabel } from "../worker-labels.ts";
import {
  containerName,
  enginePort,
  markArchive,
  provisionerLabel,
  requestArchive,
  workerContainer,
  workerHome,
  workerPort,
  type WorkerSetup,
} from "./worker-container.ts";

export interface DockerOptions {
  /** Local, because workers listen on its loopback address. Closed with the backend. */
  readonly engine: ContainerEngine;
  readonly setup: WorkerSetup;
  readonly runtime: LaunchRequest["runtime"];
  readonly directory: string;
  readonly serve: (directory: string, token: string) => Promise<ServedResults>;
  /** Required, because other containers reach the worker. */
  readonly tokenOf: (uid: string) => string;
  readonly logins: (image: string) => Promise<readonly RegistryLogin[]>;
  readonly clock: Clock;
  readonly log: Logger;
}

const mostLines = 200;
const idFile = "container";

export class DockerBackend implements WorkerBackend {
  readonly name = "docker";
  readonly #options: DockerOptions;
  readonly #engine: ContainerEngine;
  readonly #ended: EndedResults;
  readonly #closing = new AbortController();

  constructor(options: DockerOptions) {
    this.#options = options;
    this.#engine = options.engine;
    this.#ended = new EndedResults(options.serve, options.clock);
  }

  async start(worker: WorkerIdentity, request: WorkerRequest): Promise<void> {
    const name = containerName(worker);
    const { runtime, tokenOf } = this.#options;
    const accessToken = tokenOf(worker.uid);
    const address = `0.0.0.0:${workerPort}`;
    const launch: LaunchRequest = { ...request, runtime, accessToken, address, keepsOutput: true };
    const found = await this.#engine.find(name);
    if (found === undefined ? (await this.#observeGone(worker)).phase !== "absent" : wasBegun(found)) return;
    const id = found?.id ?? (await this.#create(worker, launch));
    await this.#noteId(name, id);
    await this.#engine.putFiles(id, workerHome, requestArchive(launch));
    const started = await this.#engine.start(id);
    if (started.ok) return;
    await this.#drop(name);
    throw refused(worker, started.error.message);
  }

  async observe(worker: WorkerIdentity): Promise<Observed> {
    const found = await this.#engine.find(containerName(worker));
    if (found === undefined) return await this.#observeGone(worker);
    if (!wasBegun(found)) return { phase: "absent", isAlive: false, status: "Scheduling" };
    const runtimeId = found.id;
    if (!found.life.isRunning) return { ...(await this.#observeEnded(worker, found)), runtimeId };
    const asked = this.#asked(worker, found);
    const build = asked && (await askForBuild(asked));
    if (build === undefined) return { phase: "starting", isAlive: true, status: "Initializing", runtimeId };
    const { isOver, status, finishedAt, message } = build;
    return {
      phase: isOver ? "finished" : "running",
      isAlive: true,
      status: isOver ? status : "Running",
      address: found.ports[enginePort],
      finishedAt: isOver ? finishedAt : undefined,
      message,
      runtimeId,
    };
  }

  async end(worker: WorkerIdentity, how: Ending): Promise<void> {
    const found = await this.#engine.find(containerName(worker));
    if (found === undefined || !found.life.isRunning) return;
    if (how === "kill") {
      await this.#engine.signal(found.id, "SIGKILL");
      return await this.#removeSteps(found.id);
    }
    const asked = this.#asked(worker, found);
    if (how === "cancel" && asked !== undefined && (await askToCancel(asked))) return;
    // Signals are recorded in the container for the next provisioner.
    const mark = `${how}.sent`;
    if ((await this.#engine.modifiedAt(found.id, join(workerHome, mark))) !== undefined) return;
    await this.#engine.putFiles(found.id, workerHome, markArchive(mark));
    await this.#engine.signal(found.id, "SIGTERM");
  }

  async remove(worker: WorkerIdentity): Promise<void> {
    const name = containerName(worker);
    await this.#ended.drop(resultsDirectory(this.#directory(worker)));
    await this.#drop(name);
    await rm(this.#directory(worker), { recursive: true, force: true, maxRetries: 3 });
  }

  async sweep(kept: () => readonly WorkerIdentity[]): Promise<void> {
    const { setup, directory, log } = this.#options;
    const ours = `${provisionerLabel}=${setup.provisioner}`;
    const [containers, volumes] = [await this.#engine.namesWith(ours), await this.#engine.volumesWith(ours)];
    const found = new Set([...containers, ...volumes, ...(await readdir(directory).catch(() => []))]);
    const names = new Set(kept().map(containerName));
    for (const name of found) {
      if (names.has(name)) continue;
      log.info("removing a leftover worker", { container: name });
      await this.#drop(name);
      await rm(join(directory, name), { recursive: true, force: true, maxRetries: 3 });
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the provisioner ends"));
    await this.#ended.close();
    this.#engine.close();
  }

  #directory = (worker: WorkerIdentity): string => join(this.#options.directory, containerName(worker));

  #asked({ uid }: WorkerIdentity, { ports }: EngineContainer): AskedWorker | undefined {
    const address = ports[enginePort];
    return address === undefined ? undefined : { connect: tcpConnect(address), token: this.#options.tokenOf(uid) };
  }

  /** Adopts a container from an interrupted start. */
  async #create(worker: WorkerIdentity, launch: LaunchRequest): Promise<string> {
    await this.#ensureImage(worker);
    const { setup } = this.#options;
    const name = containerName(worker);
    const made = await this.#engine.create(name, workerContainer(worker, launch, setup));
    if (made.ok) return made.value;
    const found = await this.#engine.find(name);
    if (found === undefined) throw refused(worker, made.error.message);
    return found.id;
  }

  async #ensureImage(worker: WorkerIdentity): Promise<void> {
    const { setup, logins } = this.#options;
    if ((await this.#engine.findImage(setup.image)) !== undefined) return;
    try {
      await this.#engine.pull(setup.image, await logins(setup.image), this.#closing.signal);
    } catch (thrown) {
      this.#closing.signal.throwIfAborted();
      throw refused(worker, `its image ${setup.image} is not there: ${messageOf(thrown)}`);
    }
  }

  /** The container was removed: results are on its volume or already copied. */
  async #observeGone(worker: WorkerIdentity): Promise<Observed> {
    const absent: Observed = { phase: "absent", isAlive: false, status: "Scheduling" };
    const { setup } = this.#options;
    const [name, results] = [containerName(worker), resultsDirectory(this.#directory(worker))];
    const isFetched = (await readDocument(buildFile(results))) !== undefined;
    if (isFetched) return await this.#ended.observe(this.#left(worker, undefined));
    const volumes = await this.#engine.volumesWith(`${workerUidLabel}=${worker.uid}`);
    if (!volumes.includes(name)) return absent;
    // A container that is never started gives access to the volume.
    const Mounts = [{ Type: "volume", Source: name, Target: workerHome }];
    const Labels = { [provisionerLabel]: setup.provisioner };
    const reader = `${name}.reader`;
    const made = await this.#engine.create(reader, {
      Image: setup.image,
      Cmd: ["true"],
      Labels,
      HostConfig: { Mounts },
    });
    const found = await this.#engine.find(reader);
    if (found === undefined) throw provisionerError("worker-backend", made.ok ? "it has gone" : made.error.message);
    try {
      const wasClaimed = (await this.#engine.modifiedAt(found.id, ownerFile(workerHome))) !== undefined;
      return wasClaimed ? await this.#observeEnded(worker, found) : absent;
    } finally {
      await this.#engine.remove(found.id);
    }
  }

  async #observeEnded(worker: WorkerIdentity, container: EngineContainer): Promise<Observed> {
    const directory = this.#directory(worker);
    const results = resultsDirectory(directory);
    const isFetched = await access(results).then(
      () => true,
      () => false,
    );
    if (!isFetched) {
      await this.#removeSteps(container.id);
      await this.#removeSteps(await this.#notedId(containerName(worker)));
      await this.#fetchOutput(container.id, directory);
      const archive = await this.#engine.getFiles(container.id, resultsDirectory(workerHome));
      // Scratch of steps is not copied.
      if (archive !== undefined) await fetchDirectory(archive, results, (name) => /^work(?:\/|$)/.test(name));
    }
    return await this.#ended.observe(this.#left(worker, container));
  }

  #left(worker: WorkerIdentity, container: EngineContainer | undefined) {
    const directory = this.#directory(worker);
    return {
      results: resultsDirectory(directory),
      token: this.#options.tokenOf(worker.uid),
      endSteps: () => Promise.resolve(),
      unbegun: async () => {
        const message = `the worker ended before its build${container === undefined ? "" : howEnded(container)}`;
        const lines = await lastOutput(directory, mostLines);
        return { build: this.#buildOf(container), failure: { reason: "WorkerCrashed", message, lines } };
      },
    };
  }

  #buildOf(container: EngineContainer | undefined) {
    const { labels = {} } = container ?? {};
    const number = (name: string): number => Number(labels[name] ?? 0);
    const [buildRef, projectId] = [number(buildLabel), number(projectLabel)];
    return { buildRef, projectId, instance: labels[instanceLabel] ?? "", runtime: this.#options.runtime };
  }

  async #fetchOutput(id: string, directory: string): Promise<void> {
    const archive = await this.#engine.getFiles(id, outputFile(workerHome));
    if (archive === undefined) return;
    await makeDirectories(directory, 0o700);
    for await (const { type, body } of readTar(archive))
      if (type === "file") await pipeline(body, createWriteStream(outputFile(directory), { mode: 0o600 }));
  }

  /** The worker's host name, which owns its steps, is the beginning of its container id. */
  async #removeSteps(id: string | undefined): Promise<void> {
    if (id === undefined) return;
    const steps = await this.#engine.containersWith(`app=${stepLabel.app}`, ownerLabel);
    const own = steps.filter(({ labels }) => labels[ownerLabel]?.startsWith(`${id.slice(0, 12)} `) === true);
    for (const step of own) await this.#engine.remove(step.id);
  }

  async #drop(name: string): Promise<void> {
    const found = await this.#engine.find(name);
    if (found !== undefined) await this.#engine.remove(found.id);
    await this.#removeSteps(found?.id ?? (await this.#notedId(name)));
    await this.#engine.removeVolume(name);
  }

  /** Before the start: identifies the steps if the container is removed by others. */
  async #noteId(name: string, id: string): Promise<void> {
    const directory = join(this.#options.directory, name);
    await makeDirectories(directory, 0o700);
    await writeFile(join(directory, idFile), id, { mode: 0o600 });
  }

  async #notedId(name: string): Promise<string | undefined> {
    const id = await readFile(join(this.#options.directory, name, idFile), "utf8").catch(() => "");
    return /^[0-9a-f]{12,}$/.test(id) ? id : undefined;
  }
}

const wasBegun = ({ life }: EngineContainer): boolean => life.isRunning || life.startedAt !== undefined;

const refused = ({ name }: WorkerIdentity, why: string) =>
  provisionerError("worker-refused", `the worker ${name} cannot be started: ${why}`);

const howEnded = ({ life }: EngineContainer): string =>
  life.startedAt === undefined ? "" : life.outOfMemory ? " (out of memory)" : ` (exit code ${life.exitCode})`;

/** Unpacks an archive of a directory atomically. Content is untrusted: only regular files and directories inside are
 * taken; `left` filters names. */
export async function fetchDirectory(
  archive: AsyncIterable<Buffer>,
  path: string,
  left: (name: string) => boolean,
): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  await makeDirectories(dirname(path), 0o700);
  try {
    await mkdir(draft, { mode: 0o700 });
    for await (const { path: given, type, body } of readTar(archive)) {
      const parts = given.split("/").slice(1);
      if (parts.some((part) => part === "" || part === "." || part === "..") || left(parts.join("/"))) continue;
      const target = join(draft, ...parts);
      if (type === "directory") await makeDirectories(target, 0o700);
      else if (type === "file" && parts.length > 0) {
        await makeDirectories(dirname(target), 0o700);
        await pipeline(body, createWriteStream(target, { mode: 0o600, flags: "wx" }));
      }
    }
    await rename(draft, path);
  } catch (thrown) {
    await rm(draft, { recursive: true, force: true });
    throw thrown;
  }
}
