import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  serializer,
  SlipwayError,
} from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { parseJson } from "#lib/json/index.ts";
import { type ApiClient, getOrUndefined, secretData } from "#kernel/kit/index.ts";
import { ConfigMap, controllerReference, type KubeObject, Secret, type Stored } from "#kernel/model/index.ts";
import type { StepNotes, VariableStore } from "../ops/provider.ts";
import type { ResourceRef } from "./status.ts";

// The durable variables of a run: a ConfigMap, and a Secret for what may not be read by everybody. Both are read once
// in a pass and written when something changed.

export const storeLimit = 900 * 1024;

/** A request to the outside world that was begun, and its answer once it is known. */
export interface LedgerEntry {
  readonly effect: string;
  readonly path: string;
  readonly hash: string;
  /** The execution of the step that performed it. */
  readonly execution: number;
  /** The directory that its files are in. */
  readonly place: string;
  readonly isKept?: boolean;
  readonly isRepeated?: boolean;
  readonly answer?: JsonValue;
  /** It was done or may have been, and there is no usable answer. */
  readonly failure?: string;
}

/** The variables cannot be stored now, so nothing may be done that relies on them. */
export class StoreFailure extends Error {}

type Entries<T> = Record<string, T>;

interface Content {
  vars: Entries<JsonValue>;
  secretVars: Entries<JsonValue>;
  /** By variable: the step that set it. */
  owners: Entries<string>;
  /** By step: fields `output` and `outputs`. */
  outputs: Entries<JsonObject>;
  secretOutputs: Entries<JsonObject>;
  /** By step. */
  notes: Entries<JsonObject>;
  ledger: Entries<readonly LedgerEntry[]>;
  counter: number;
}

const empty = (): Content => ({
  vars: {},
  secretVars: {},
  owners: {},
  outputs: {},
  secretOutputs: {},
  notes: {},
  ledger: {},
  counter: 0,
});

export interface StoreOptions {
  readonly client: ApiClient;
  readonly owner: Stored;
  /** Of the application or run. */
  readonly name: string;
  readonly namespace: string;
  /** From the status: the store existed. */
  readonly known?: ResourceRef | undefined;
  /** The content does not matter, because the run begins. */
  readonly isFresh: boolean;
  readonly signal: AbortSignal;
}

export const storeName = (name: string): string => `workflow-${name}-context`;

export class ContextStore {
  readonly #options: StoreOptions;
  readonly #inTurn = serializer();
  #name: string;
  #content: Content;
  #map: Stored | undefined;
  #secret: Stored | undefined;
  #isDirty = false;
  /** It existed and was deleted: begun effects are not known any more. */
  readonly isLost: boolean;

  private constructor(options: StoreOptions, name: string, map: Stored | undefined, secret: Stored | undefined) {
    this.#options = options;
    this.#name = name;
    this.#map = map;
    this.#secret = secret;
    this.#content = options.isFresh ? readableContent(map, secret) : readContent(map, secret);
    this.isLost = options.known !== undefined && map === undefined && secret === undefined;
  }

  /** Rejects with `context-unreadable` if somebody broke its content. */
  static async open(options: StoreOptions): Promise<ContextStore> {
    const { client, owner, namespace, signal } = options;
    const plain = storeName(options.name);
    for (const name of [options.known?.name ?? plain, `${plain}-${hashName([owner.metadata.uid], 5)}`]) {
      const map = await getOrUndefined(client, { type: ConfigMap, namespace, name }, signal);
      const secret = await getOrUndefined(client, { type: Secret, namespace, name }, signal);
      if (isForeign(map, owner) || isForeign(secret, owner)) continue;
      return new ContextStore(options, name, map, secret);
    }
    throw new SlipwayError("context-taken", `ConfigMap ${namespace}/${plain} belongs to another object`);
  }

  get reference(): ResourceRef | undefined {
    if (this.#map === undefined) return undefined;
    const { name, uid } = this.#map.metadata;
    return { apiVersion: "v1", kind: "ConfigMap", name, namespace: this.#options.namespace, uid };
  }

  /** Forgets an earlier run. */
  reset(): void {
    const { counter } = this.#content;
    const had = this.#map !== undefined || this.#secret !== undefined;
    this.#content = { ...empty(), counter };
    if (had) this.#isDirty = true;
  }

  /** Forgets what steps left that have not started, after a restart from one of them. */
  keepSteps(started: ReadonlySet<string>): void {
    const content = this.#content;
    for (const [name, step] of Object.entries(content.owners)) if (!started.has(step)) this.#removeVariable(name);
    for (const part of [content.outputs, content.secretOutputs, content.notes, content.ledger]) {
      for (const step of Object.keys(part)) {
        if (started.has(step)) continue;
        delete part[step];
        this.#isDirty = true;
      }
    }
  }

  #removeVariable(name: string): void {
    delete this.#content.vars[name];
    delete this.#content.secretVars[name];
    delete this.#content.owners[name];
    this.#isDirty = true;
  }

  variable(name: string): JsonValue | undefined {
    const { vars, secretVars } = this.#content;
    return Object.hasOwn(secretVars, name) ? secretVars[name] : Object.hasOwn(vars, name) ? vars[name] : undefined;
  }

  isSensitive(name: string): boolean {
    return Object.hasOwn(this.#content.secretVars, name);
  }

  ownerOf(name: string): string | undefined {
    return Object.hasOwn(this.#content.owners, name) ? this.#content.owners[name] : undefined;
  }

  setVariable(name: string, value: JsonValue, step: string, isSensitive: boolean): void {
    const { vars, secretVars, owners } = this.#content;
    const secret = isSensitive || this.isSensitive(name);
    if (jsonEquals(this.variable(name), value) && secret === this.isSensitive(name) && owners[name] === step) return;
    this.#removeVariable(name);
    (secret ? secretVars : vars)[name] = value;
    owners[name] = step;
  }

  /** What steps have set, as a CUE text. */
  variablesSetBy(steps: readonly string[]): { readonly text: string; readonly isSensitive: boolean } {
    const names = Object.entries(this.#content.owners).flatMap(([name, step]) => (steps.includes(step) ? [name] : []));
    const label = (name: string) => (/^[A-Za-z]\w*$/.test(name) ? name : JSON.stringify(name));
    return {
      text: names.map((name) => `${label(name)}: ${JSON.stringify(this.variable(name))}\n`).join(""),
      isSensitive: names.some((name) => this.isSensitive(name)),
    };
  }

  /** Variables that are not sensitive. */
  get plainVariables(): JsonObject {
    return this.#content.vars;
  }

  taskOutput(step: string): JsonObject {
    return this.#content.secretOutputs[step] ?? this.#content.outputs[step] ?? {};
  }

  setTaskOutput(step: string, output: JsonObject, isSensitive: boolean): void {
    if (jsonEquals(this.taskOutput(step), output)) return;
    delete this.#content.outputs[step];
    delete this.#content.secretOutputs[step];
    (isSensitive ? this.#content.secretOutputs : this.#content.outputs)[step] = output;
    this.#isDirty = true;
  }

  notesOf(step: string): StepNotes {
    return {
      get: (key) => this.#content.notes[step]?.[key],
      set: (key, value) => {
        if (jsonEquals(this.#content.notes[step]?.[key], value)) return;
        this.#content.notes[step] = { ...this.#content.notes[step], [key]: value };
        this.#isDirty = true;
      },
    };
  }

  /** The notes of a step whose keys begin like this. */
  notesWith(prefix: string, step: string): JsonObject {
    const notes = Object.entries(this.#content.notes[step] ?? {});
    return Object.fromEntries(notes.filter(([key]) => key.startsWith(prefix)));
  }

  removeNotes(step: string, keys: readonly string[]): void {
    if (keys.length === 0) return;
    const notes = Object.entries(this.#content.notes[step] ?? {});
    this.#content.notes[step] = Object.fromEntries(notes.filter(([key]) => !keys.includes(key)));
    this.#isDirty = true;
  }

  /** `refuse` is told when another step has set the variable to another value; the variable stays as it is. */
  variablesOf(step: string, refuse: (name: string, owner: string) => void): VariableStore {
    return {
      get: (name) => this.variable(name),
      isSensitive: (name) => this.isSensitive(name),
      set: (name, value, isSensitive = false) => {
        const owner = this.ownerOf(name);
        const isTaken = owner !== undefined && owner !== step && !jsonEquals(this.variable(name), value);
        if (isTaken) refuse(name, owner);
        else if (owner === undefined || owner === step) this.setVariable(name, value, step, isSensitive);
      },
    };
  }

  entries(step: string): readonly LedgerEntry[] {
    return this.#content.ledger[step] ?? [];
  }

  setEntries(step: string, entries: readonly LedgerEntry[]): void {
    if (jsonEquals(this.entries(step), entries)) return;
    this.#content.ledger[step] = entries;
    this.#isDirty = true;
  }

  /** Never repeats, not even after a restart of the run. */
  nextNumber(): number {
    this.#content.counter += 1;
    this.#isDirty = true;
    return this.#content.counter;
  }

  /** The largest part if all together are too large. */
  excess(): { readonly name: string; readonly bytes: number } | undefined {
    if (sizeOf(this.#content) <= storeLimit) return undefined;
    const { vars, secretVars, outputs, secretOutputs, notes, ledger } = this.#content;
    const named = (what: string, part: Readonly<Record<string, unknown>>) =>
      Object.entries(part).map(([step, value]) => [`${what} of step ${step}`, value] as const);
    const all = [
      ...[vars, secretVars, outputs, secretOutputs].flatMap((part) => Object.entries(part)),
      ...named("notes", notes),
      ...named("answers", ledger),
    ];
    const sized = all.map(([name, value]) => ({ name, bytes: sizeOf(value) }));
    return sized.sort((a, b) => b.bytes - a.bytes)[0];
  }

  /** Forgets what a step has left, but not which effects it has begun. */
  forgetStep(step: string): void {
    for (const [name, owner] of Object.entries(this.#content.owners)) if (owner === step) this.#removeVariable(name);
    for (const part of [this.#content.outputs, this.#content.secretOutputs, this.#content.notes]) delete part[step];
    this.#isDirty = true;
  }

  removeVariable(name: string): void {
    if (this.variable(name) !== undefined) this.#removeVariable(name);
  }

  /** Durable when it resolves. Conflicts if somebody else changed it since it was read. */
  save(): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#isDirty) return;
      this.#isDirty = false;
      try {
        await this.#write();
      } catch (thrown) {
        this.#isDirty = true;
        throw thrown;
      }
    });
  }

  async #write(): Promise<void> {
    const { vars, owners, outputs, notes, counter, secretVars, secretOutputs, ledger } = this.#content;
    const texts = { vars, owners, outputs, notes, counters: { effects: counter } };
    const secrets = { vars: secretVars, outputs: secretOutputs, ledger };
    // The Secret first: an entry of the ledger must exist before anything is begun.
    if (this.#secret !== undefined || Object.values(secrets).some((part) => Object.keys(part).length > 0)) {
      const data = secretData(mapValues(secrets, (part) => JSON.stringify(part)));
      this.#secret = await this.#put(Secret, "Secret", this.#secret, data);
    }
    this.#map = await this.#put(
      ConfigMap,
      "ConfigMap",
      this.#map,
      mapValues(texts, (part) => JSON.stringify(part)),
    );
  }

  async #put(
    type: typeof ConfigMap,
    kind: "ConfigMap" | "Secret",
    present: Stored | undefined,
    data: Readonly<Record<string, string>>,
  ): Promise<Stored> {
    const { client, owner, namespace, signal } = this.#options;
    const object = {
      apiVersion: "v1",
      kind,
      metadata: { name: this.#name, namespace, ownerReferences: [controllerReference(owner)] },
      data,
    };
    if (present === undefined) return client.create(type, object, { signal });
    if (jsonEquals(dataOf(present), data)) return present;
    return client.update(type, { ...present, data } as KubeObject, { signal }) as Promise<Stored>;
  }
}

const mapValues = <T, R>(record: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

const isForeign = (object: Stored | undefined, owner: Stored): boolean =>
  object !== undefined && object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) !== true;

const dataOf = (object: KubeObject | undefined): JsonObject => {
  const data = object !== undefined && "data" in object ? object.data : undefined;
  return isJsonObject(data) ? data : {};
};

function readableContent(map: Stored | undefined, secret: Stored | undefined): Content {
  try {
    return readContent(map, secret);
  } catch {
    // Whatever it says is about to be replaced.
    return empty();
  }
}

function readContent(map: Stored | undefined, secret: Stored | undefined): Content {
  const text = (key: string) => part(map, key, (found) => found);
  const hidden = (key: string) => part(secret, key, (found) => Buffer.from(found, "base64").toString());
  const counter = text("counters")["effects"];
  return {
    vars: entries(text("vars")),
    owners: entries(text("owners")),
    outputs: entries(text("outputs")),
    notes: entries(text("notes")),
    secretVars: entries(hidden("vars")),
    secretOutputs: entries(hidden("outputs")),
    ledger: entries(hidden("ledger")),
    counter: typeof counter === "number" ? counter : 0,
  };
}

/** Only this store writes them. */
const entries = <T>(found: JsonObject): Entries<T> => ({ ...found }) as Entries<T>;

function part(object: Stored | undefined, key: string, decode: (text: string) => string): JsonObject {
  const found = dataOf(object)[key];
  if (typeof found !== "string" || found === "") return {};
  const parsed = parseJson(decode(found));
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  const { kind, metadata } = object ?? { kind: "", metadata: { name: "" } };
  throw new SlipwayError("context-unreadable", `key "${key}" of ${kind} ${metadata.name} is not a JSON object`, {
    hint: "restart the workflow",
  });
}
