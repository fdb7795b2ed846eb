import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { err, ok, type Result } from "#lib/base/index.ts";
import { makeDirectories, exists } from "#lib/base/index.node.ts";
import { type ApiClient, refTo } from "#kernel/kit/index.ts";
import {
  ArtifactError,
  asArtifactError,
  type ArtifactStore,
  type ArtifactWish,
  leavesAnnotation,
  leftAnnotation,
  type LeftRecord,
  packArtifact,
  readLeaves,
  readLeft,
  readTakes,
  type StoredArtifact,
  type TakenArtifact,
  takesAnnotation,
  unpackArtifact,
} from "#kernel/artifacts/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { podPaths } from "./pod-paths.ts";

// Artifacts are copied into a Pod's directory before its first container starts, and out of it after the last has
// ended. Both may be repeated after a crash.

export interface Lacking {
  readonly reason: string;
  readonly message: string;
}

export const hasArtifacts = ({ metadata: { annotations } }: PodObject): boolean =>
  annotations?.[takesAnnotation] !== undefined || annotations?.[leavesAnnotation] !== undefined;

export class PodArtifacts {
  readonly #store: ArtifactStore;
  readonly #client: ApiClient;
  readonly #directory: string;

  constructor(store: ArtifactStore, client: ApiClient, directory: string) {
    this.#store = store;
    this.#client = client;
    this.#directory = directory;
  }

  /** Fills the directory once, before any container has run, whose links could lead the writes elsewhere. */
  async prepare(pod: PodObject, signal: AbortSignal): Promise<Result<void, Lacking>> {
    if (!hasArtifacts(pod)) return ok(undefined);
    const { artifacts: directory, artifactsMade } = podPaths(this.#directory, pod);
    if (await exists(artifactsMade)) return ok(undefined);
    try {
      await rm(directory, { recursive: true, force: true });
      await makeDirectories(directory);
      await chmod(directory, 0o777);
      for (const artifact of readTakes(pod.metadata.annotations))
        await named(artifact.name, () => this.#take(pod, artifact, directory, signal));
      await writeFile(artifactsMade, "");
      return ok(undefined);
    } catch (thrown) {
      signal.throwIfAborted();
      const { reason, message } = asArtifactError(thrown);
      return err({ reason, message });
    }
  }

  async #take(pod: PodObject, artifact: TakenArtifact, directory: string, signal: AbortSignal): Promise<void> {
    const bytes = await this.#store.read(pod.metadata.namespace ?? "", artifact.digest);
    await unpackArtifact(untilAborted(bytes, signal), artifact, join(directory, artifact.path));
  }

  /**
   * Stores what a succeeded Pod leaves, and records the result on the Pod before its phase is written. A failure of the
   * store is recorded; one of the API rejects. Stops without a record when `isWanted` becomes false, so that a deletion
   * does not wait.
   */
  async collect(
    pod: Stored<PodObject>,
    signal: AbortSignal,
    isWanted: () => boolean = () => true,
  ): Promise<Stored<PodObject>> {
    const { annotations, uid, deletionTimestamp } = pod.metadata;
    if (annotations?.[leavesAnnotation] === undefined || deletionTimestamp !== undefined) return pod;
    if (readLeft(annotations, uid) !== undefined) return pod;
    const end = new AbortController();
    const record = await this.#leave(pod, AbortSignal.any([signal, end.signal]), () => {
      if (!isWanted()) end.abort(new Error("the pod is being deleted"));
    });
    signal.throwIfAborted();
    if (end.signal.aborted) return pod;
    const body = { metadata: { uid, annotations: { [leftAnnotation]: JSON.stringify(record) } } };
    return this.#client.patch<PodObject>(refTo(Pod, pod), { type: "merge", body });
  }

  async #leave(pod: Stored<PodObject>, signal: AbortSignal, beat: () => void): Promise<LeftRecord> {
    const { annotations, uid } = pod.metadata;
    try {
      const artifacts: Record<string, StoredArtifact> = {};
      for (const wish of readLeaves(annotations)) {
        const stored = await named(wish.name, () => this.#leaveOne(pod, wish, signal, beat));
        if (stored !== undefined) artifacts[wish.name] = stored;
      }
      return { uid, artifacts };
    } catch (thrown) {
      const { reason, message } = asArtifactError(thrown);
      return { uid, problem: { reason, message } };
    }
  }

  async #leaveOne(
    pod: Stored<PodObject>,
    wish: ArtifactWish,
    signal: AbortSignal,
    beat: () => void,
  ): Promise<StoredArtifact | undefined> {
    const packed = await packArtifact(podPaths(this.#directory, pod).artifacts, wish);
    if (packed === undefined) {
      if (wish.optional === true) return undefined;
      throw new ArtifactError("ArtifactMissing", `nothing is at ${wish.path} of $SLIPWAY_ARTIFACTS`);
    }
    const { bytes, ...kept } = packed;
    return { ...(await this.#store.put(pod.metadata.namespace ?? "", beating(bytes, beat), signal)), ...kept };
  }
}

async function* beating(bytes: AsyncIterable<Buffer>, beat: () => void): AsyncGenerator<Buffer, void> {
  for await (const chunk of bytes) {
    beat();
    yield chunk;
  }
}

async function* untilAborted(bytes: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  for await (const chunk of bytes) {
    signal.throwIfAborted();
    yield chunk;
  }
}

async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const { reason, message } = asArtifactError(thrown);
    throw new ArtifactError(reason, `artifact "${name}": ${message}`, { cause: thrown });
  }
}
