import { type Clock, messageOf } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { ApiError, isAlreadyExists, isNotFound } from "#kernel/model/index.ts";
import { Refused, refusal } from "../failure.ts";
import { kindOf } from "../kinds.ts";
import { keyOf } from "../model/read.ts";
import type { AnyObject, Collection, ObjectOf } from "../objects.ts";
import { encodeNew, encodeNext, keptOf, type Kept, noRecords, type Records } from "./codec.ts";
import type { Applied, Mirror } from "./mirror.ts";
import type { Entry, Sent } from "./table.ts";

export interface WriterParts {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly mirror: Mirror;
}

/** Durable writes of single objects, which the mirror shows at once. */
export class Writer {
  readonly #parts: WriterParts;
  /** By object that is being written: what to do afterwards. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  async create<C extends Collection>(
    collection: C,
    object: AnyObject,
    bundle?: { readonly name: string; readonly revision: number },
  ): Promise<Applied<C>> {
    const { client, clock, namespace } = this.#parts;
    const place = bundle === undefined ? { namespace } : { namespace, bundle };
    const encoded = encodeNew(collection, object, place, clock.now());
    const key = keyOf(collection, object);
    return await this.#alone(collection, encoded.metadata.name ?? "", async () => {
      const written = await refusing(collection, key, "POST", () => client.create(kindOf[collection], encoded));
      return this.#applied(collection, keptOf(written));
    });
  }

  /** Conflicts (an ApiError) unless the entry is the newest version. */
  async replace<C extends Collection>(
    collection: C,
    entry: Entry<C>,
    object: ObjectOf[C],
    records: Records = noRecords,
  ): Promise<Applied<C>> {
    const { client, clock } = this.#parts;
    const next = encodeNext(object, entry.object, clock.now(), records);
    return await this.#alone(collection, entry.object.metadata.name, async () => {
      const written = await refusing(collection, entry.key, "PUT", () => client.update(kindOf[collection], next));
      return this.#applied(collection, keptOf(written), { spec: next.spec, wire: object, records });
    });
  }

  /** What others have created and nobody may use says why. */
  async reject(collection: Collection, { object, key }: Entry, errors: readonly string[]): Promise<void> {
    const { client } = this.#parts;
    const status = { validated: false, available: false, errors };
    await this.#alone(collection, object.metadata.name, async () => {
      const next = { ...object, status };
      const written = await refusing(collection, key, "PUT", () => client.update(kindOf[collection], next));
      this.#applied(collection, written);
    });
  }

  /** Conflicts unless the entry is the newest version. */
  async remove<C extends Collection>(collection: C, { object, key }: Entry<C>): Promise<void> {
    const { client, namespace, mirror } = this.#parts;
    const { name, uid, resourceVersion } = object.metadata;
    const ref = { type: kindOf[collection], namespace, name };
    await this.#alone(collection, name, async () => {
      try {
        await refusing(collection, key, "DELETE", () =>
          client.delete(ref, { preconditions: { uid, resourceVersion }, propagationPolicy: "Background" }),
        );
      } catch (thrown) {
        if (!isNotFound(thrown)) throw thrown;
      }
      mirror.drop(collection, object, false);
    });
  }

  /** Calls `run` when no write of this object is under way: own writes are then known as such. */
  whenQuiet(collection: Collection, name: string, run: () => void): void {
    const waiting = this.#waiting.get(`${collection}/${name}`);
    if (waiting === undefined) run();
    else waiting.push(run);
  }

  async #alone<T>(collection: Collection, name: string, run: () => Promise<T>): Promise<T> {
    const id = `${collection}/${name}`;
    if (this.#waiting.has(id)) return await run();
    const waiting: (() => void)[] = [];
    this.#waiting.set(id, waiting);
    try {
      return await run();
    } finally {
      this.#waiting.delete(id);
      for (const later of waiting) later();
    }
  }

  /** Reads what others have written meanwhile. */
  async refresh(collection: Collection, name: string): Promise<void> {
    const { client, namespace, mirror } = this.#parts;
    const found = await getOrUndefined(client, { type: kindOf[collection], namespace, name });
    const known = mirror.table(collection).named(name);
    if (found !== undefined) mirror.put(collection, keptOf(found));
    else if (known !== undefined) mirror.drop(collection, known.object, false);
  }

  #applied<C extends Collection>(collection: C, object: Kept, sent?: Sent<C>): Applied<C> {
    const { mirror } = this.#parts;
    const before = mirror.table(collection).named(object.metadata.name);
    const applied = mirror.put(collection, object, sent);
    if (applied !== undefined) return applied;
    // Its event came first.
    const entry = mirror.table(collection).named(object.metadata.name);
    if (entry === undefined) throw new Refused(refusal(404, "DELETE", collection, object.metadata.name, "Not Found"));
    return { entry, before };
  }
}

/** Refusals of the API server in the words of `/api/v3`. Conflicts and missing objects are the caller's. */
async function refusing<T>(collection: Collection, key: string, method: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    if (isAlreadyExists(thrown)) throw new Refused(refusal(409, "CREATE", collection, key, "already exists"));
    if (!(thrown instanceof ApiError)) throw thrown;
    if (thrown.code === 413) throw new Refused(refusal(413, method, collection, key, messageOf(thrown)));
    if (thrown.code === 422 || thrown.code === 400)
      throw new Refused(refusal(422, "ValidationError", collection, key, messageOf(thrown)));
    throw thrown;
  }
}
