import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { type ApiClient, type Informer, type Manager, refTo } from "#kernel/kit/index.ts";
import { asJson, ConfigMap, type KubeObject, Secret, type Stored } from "#kernel/model/index.ts";
import { numberIn, Numbers } from "../builds/numbers.ts";
import { refuse } from "../http/index.ts";
import { originAnnotation, tokenIsFor } from "../token-origin.ts";
import { stored } from "./repository.ts";

// Tokens are Secrets, so they are encrypted and protected like Secrets; providers are ConfigMaps.

const kindLabel = "wharf.slipway.dev/kind";

export type Members = Readonly<Record<string, string>>;

export interface SmallRecord {
  readonly id: number;
  readonly members: Members;
  readonly object: Stored;
}

export class SmallRecords {
  readonly #kind: "token" | "provider";
  readonly #client: ApiClient;
  readonly #namespace: string;
  readonly #mirror: Informer;
  readonly #numbers = new Numbers();

  constructor(kind: "token" | "provider", manager: Manager, namespace: string) {
    this.#kind = kind;
    this.#client = manager.client;
    this.#namespace = namespace;
    this.#mirror = manager.mirror(this.#type, { namespace, labelSelector: `${kindLabel}=${kind}` });
    const saw = ({ metadata }: Stored): void => this.#numbers.saw(numberIn(this.#prefix, metadata.name));
    this.#mirror.addHandler({ add: saw, update: (_old, object) => saw(object) });
  }

  list(): readonly SmallRecord[] {
    return this.#mirror.list().flatMap((object) => {
      const id = numberIn(this.#prefix, object.metadata.name);
      return id === undefined ? [] : [{ id, members: membersOf(object), object }];
    });
  }

  find(id: number): SmallRecord | undefined {
    const object = this.#mirror.get(`${this.#namespace}/${this.#prefix}-${id}`);
    return object === undefined ? undefined : { id, members: membersOf(object), object };
  }

  get(id: number): SmallRecord {
    const found = this.find(id);
    if (found === undefined) throw refuse("record-not-found", `${this.#kind} with ID ${id} was not found`);
    return found;
  }

  async create(members: Members): Promise<SmallRecord> {
    const id = this.#numbers.next();
    const object = await stored(() => this.#client.create<KubeObject>(this.#type, this.#object(id, members)));
    return { id, members, object };
  }

  /** Binds a token to its only server; refuses one bound to another. */
  async bind(id: number, origin: string): Promise<void> {
    const { object } = this.get(id);
    const bound = object.metadata.annotations?.[originAnnotation];
    if (origin === "" || bound === origin) return;
    if (bound !== undefined)
      throw refuse("invalid-param", tokenIsFor(object.metadata.name, bound, origin), { parameter: "tokenId" });
    const body = { metadata: { annotations: { [originAnnotation]: origin } } };
    await stored(() => this.#client.patch(refTo(this.#type, object), { type: "merge", body }));
  }

  /** Missing members are unchanged. A renewed token is bound to `origin`, or unbound. */
  async update(id: number, members: Members, origin?: string): Promise<SmallRecord> {
    const before = this.get(id);
    const bound = { metadata: { annotations: { [originAnnotation]: origin ?? null } } };
    const body = { ...(this.#kind === "token" ? bound : {}), data: this.#encoded(members) };
    const object = await stored(() => this.#client.patch(refTo(this.#type, before.object), { type: "merge", body }));
    return { id, members: membersOf(object), object };
  }

  get #type() {
    return this.#kind === "token" ? Secret : ConfigMap;
  }

  get #prefix(): string {
    return `wharf-${this.#kind}`;
  }

  #object(id: number, members: Members): KubeObject {
    const metadata = { namespace: this.#namespace, name: `${this.#prefix}-${id}`, labels: { [kindLabel]: this.#kind } };
    const object = { apiVersion: "v1", kind: this.#type.kind, metadata, data: this.#encoded(members) };
    return object;
  }

  #encoded(members: Members): Members {
    if (this.#kind !== "token") return members;
    return Object.fromEntries(
      Object.entries(members).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
    );
  }
}

function membersOf(object: Stored): Members {
  const { kind, data } = asJson(object);
  const members: JsonObject = isJsonObject(data) ? data : {};
  return Object.fromEntries(
    Object.entries(members).map(([name, text]) => {
      const value = typeof text === "string" ? text : "";
      return [name, kind === "Secret" ? Buffer.from(value, "base64").toString() : value];
    }),
  );
}
