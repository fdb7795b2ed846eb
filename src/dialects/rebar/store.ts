import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { AnyObject, Collection, Job, ObjectOf, Prefs } from "./objects.ts";
import type { Principal, World } from "./world.ts";

/** Rejections are `Refused`, except for failures of the storage. */
export interface RebarStore {
  /** Shows own writes at once. A machine's current job is answered from the machine's record. */
  readonly world: World;
  /** `sent` is what the client wrote; the result is complete. */
  create<C extends Collection>(collection: C, sent: JsonObject, write: Write): Promise<ObjectOf[C]>;
  /**
   * Changes one object in one durable write, together with all consequences for it. `change` sees the object as
   * clients do, and is called again if another write came first.
   */
  update<C extends Collection>(
    collection: C,
    key: string,
    change: (object: ObjectOf[C]) => JsonObject,
    write: Write,
  ): Promise<ObjectOf[C]>;
  remove<C extends Collection>(collection: C, key: string, write: Write): Promise<ObjectOf[C]>;
  /** `POST /jobs`: 201 a new job or a finished action, 202 the incomplete one again, 204 nothing to run now. */
  postJob(request: JsonObject, write: Write): Promise<{ readonly code: 201 | 202 | 204; readonly job?: Job }>;
  setPrefs(values: Prefs, write: Write): Promise<Prefs>;
  /** In the order of the commits, after them. Returns how to stop. A listener must not throw. */
  listen(listener: (event: RebarEvent) => void): () => void;
  /** Publishes an event that is not about a stored object. */
  publish(event: Omit<RebarEvent, "Time">): void;
  readonly bundles: Bundles;
}

export interface Write {
  readonly by: Principal;
  /** `?force=true`. */
  readonly isForced?: boolean;
  /** Claim `machines updateTaskList`: may move CurrentTask. */
  readonly mayReposition?: boolean;
}

export interface RebarEvent {
  /** RFC 3339. */
  readonly Time: string;
  /** A collection, or another word such as `contents`. */
  readonly Type: string;
  /** `create`, `update`, `save` (bookkeeping), `delete`, or the command of an action. */
  readonly Action: string;
  readonly Key: string;
  /** See `principalText`. */
  readonly Principal: string;
  /** After the change; null if there is none. */
  readonly Object: AnyObject | JsonValue;
  /** Before an update or save, otherwise null. */
  readonly Original: AnyObject | JsonValue;
}

/** A content bundle as clients write it. */
export interface Content {
  readonly meta: JsonObject;
  /** Objects by collection and key. */
  readonly sections: JsonObject;
}

export interface ContentSummary {
  readonly meta: JsonObject;
  readonly Counts: Readonly<Record<string, number>>;
  readonly Warnings: readonly string[];
}

/** Bundles change as a whole or not at all. */
export interface Bundles {
  list(): readonly ContentSummary[];
  get(name: string): Content | undefined;
  create(content: JsonObject, write: Write, replaceWritable: boolean): Promise<ContentSummary>;
  replace(name: string, content: JsonObject, write: Write, replaceWritable: boolean): Promise<ContentSummary>;
  remove(name: string, write: Write): Promise<void>;
}
