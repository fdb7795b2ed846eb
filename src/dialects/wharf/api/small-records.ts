import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { type ApiClient, type Informer, type Manager, refTo } from "#kernel/kit/index.ts";
import { asJson, ConfigMap, type KubeObject, Secret, type Stored } from "#kernel/model/index.ts";
import { numberIn, Numbers } from "../builds/numbers.ts";
import { refuse } from "../http/index.ts";
import { originAnnotation, tokenIsFor } from "../token-origin.ts";
import { stored } from "./repository.ts";

// Tokens and providers are few and small, and belong to the REST API alone: tokens are Secrets, so that they are encrypted where Secrets are and
// readable for who may read Secrets; providers are ConfigMaps. Their members are texts.

const kindLabel = "wharf.slipway.dev/kind";

// Whoever removes such an object with kubectl removes the token or the provider; projects that name it go on without, and say so when they are built.

/** Members of a token or a provider. */
export type Members = Readonly<Record<string, string>>;

/** One of them, by its number. */
export interface SmallRecord {
  readonly id: number;
  readonly members: Members;
  readonly object: Stored;
}

/** Tokens, or providers. */
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

  /** In no order. */
  list(): readonly SmallRecord[] {
    return this.#mirror.list().flatMap((object) => {
      const id = numberIn(this.#prefix, object.metadata.name);
      return id === undefined ? [] : [{ id, members: membersOf(object), object }];
    });
  }

  /** As it is known here; a write of this process is known at once. */
  find(id: number): SmallRecord | undefined {
    const object = this.#mirror.get(`${this.#namespace}/${this.#prefix}-${id}`);
    return object === undefined ? undefined : { id, members: membersOf(object), object };
  }

  /** Refuses with 404. */
  get(id: number): SmallRecord {
    const found = this.find(id);
    if (found === undefined) throw refuse("record-not-found", `${this.#kind} with ID ${id} was not found`);
    return found;
  }

  /** Under the next number. */
  async create(members: Members): Promise<SmallRecord> {
    const id = this.#numbers.next();
    const object = await stored(() => this.#client.create<KubeObject>(this.#type, this.#object(id, members)));
    return { id, members, object };
  }

  /** Binds a token to the only server that it is sent to; refuses one that is bound to another. */
  async bind(id: number, origin: string): Promise<void> {
    const { object } = this.get(id);
    const bound = object.metadata.annotations?.[originAnnotation];
    if (origin === "" || bound === origin) return;
    if (bound !== undefined)
      throw refuse("invalid-param", tokenIsFor(object.metadata.name, bound, origin), { parameter: "tokenId" });
    const body = { metadata: { annotations: { [originAnnotation]: origin } } };
    await stored(() => this.#client.patch(refTo(this.#type, object), { type: "merge", body }));
  }

  /** Members that are not given stay. A token that is given again is bound to `origin`, or to no server yet. */
  async update(id: number, members: Members, origin?: string): Promise<SmallRecord> {
    const before = this.get(id);
    const bound = { metadata: { annotations: { [originAnnotation]: origin ?? null } } };
    const body = { ...(this.#kind === "token" ? bound : {}), data: this.#encoded(members) };
    const object = await stored(() => this.#client.patch(refTo(this.#type, before.object), { type: "merge", body }));
    return { id, members: membersOf(object), object };
  }

  /** Secrets are encrypted where the server is told to, and not for viewers. */
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

/** What is no text counts as empty: anybody may change the objects. */
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
