import { getOrAdd, type JsonObject, objectsAt, textAt } from "#lib/base/index.ts";
import { rbacGroup } from "../../kinds/rbac.ts";
import type { Store, StoreEvent, Subscription } from "../../store/store.ts";
import type { Access, Identity } from "../identity.ts";
import { allows, type CompiledRules, compileRules, type PolicyRule, rulesOf } from "./policy-rule.ts";

// Indexes roles and bindings by the caller's user and groups, so that nothing is scanned per request.
//
//   #grants   "User:alice" -> namespace ("" for the cluster) -> binding -> Grant {role: "/view"}
//   #roles    "/view", "team-a/deployer" -> its rules, compiled
//
// A binding whose role is missing grants nothing until the role exists.

/** A binding for one subject; texts are for reasons. */
export interface Grant {
  /** `RoleBinding "team-a/readers"` */
  readonly binding: string;
  /** Key of the role: namespace, slash, name. */
  readonly role: string;
  /** `ClusterRole "view"` */
  readonly roleText: string;
  /** `User "alice"` */
  readonly subject: string;
}

type Places = Map<string, Map<string, Grant>>;

/** Follows the four kinds in a store; published changes count at once. */
export class RuleIndex {
  readonly #roles = new Map<string, CompiledRules>();
  readonly #grants = new Map<string, Places>();
  readonly #subscriptions: readonly Subscription[];

  constructor(store: Pick<Store, "page" | "subscribe">) {
    const follow = (resource: string, set: Setter, drop: Setter): Subscription => {
      const collection = { group: rbacGroup, resource };
      const { entries, revision } = store.page(collection, {});
      for (const entry of entries) set(entry.key.namespace, entry.key.name, entry.object());
      return store.subscribe(collection, revision, (events) => {
        for (const event of events) this.#take(event, set, drop);
      });
    };
    const setRole: Setter = (namespace, name, object) =>
      void this.#roles.set(`${namespace}/${name}`, compileRules(rulesOf(object)));
    const dropRole: Setter = (namespace, name) => void this.#roles.delete(`${namespace}/${name}`);
    const setBinding: Setter = (namespace, name, object) => this.#setBinding(namespace, name, object);
    const dropBinding: Setter = (namespace, name, object) => this.#dropBinding(namespace, name, object);
    this.#subscriptions = [
      follow("roles", setRole, dropRole),
      follow("clusterroles", setRole, dropRole),
      follow("rolebindings", setBinding, dropBinding),
      follow("clusterrolebindings", setBinding, dropBinding),
    ];
  }

  find(identity: Identity, access: Access): Grant | undefined {
    const found = this.#findFor(`User:${identity.user}`, access);
    if (found !== undefined) return found;
    for (const group of identity.groups) {
      const grant = this.#findFor(`Group:${group}`, access);
      if (grant !== undefined) return grant;
    }
    return undefined;
  }

  /** All rules for the caller in a namespace, including the cluster's. */
  rulesFor(identity: Identity, namespace: string | undefined): readonly PolicyRule[] {
    const subjects = [`User:${identity.user}`, ...identity.groups.map((group) => `Group:${group}`)];
    const places = namespace === undefined || namespace === "" ? [""] : ["", namespace];
    const roles = subjects.flatMap((subject) =>
      places.flatMap((place) =>
        [...(this.#grants.get(subject)?.get(place)?.values() ?? [])].map((grant) => grant.role),
      ),
    );
    return [...new Set(roles)].flatMap((role) => this.#roles.get(role)?.rules ?? []);
  }

  /** The rules of a role, if it exists. `namespace` is empty for a ClusterRole. */
  role(namespace: string, name: string): readonly PolicyRule[] | undefined {
    return this.#roles.get(`${namespace}/${name}`)?.rules;
  }

  close(): void {
    for (const subscription of this.#subscriptions) subscription.close();
  }

  #findFor(subject: string, access: Access): Grant | undefined {
    const places = this.#grants.get(subject);
    if (places === undefined) return undefined;
    const found = this.#findIn(places.get(""), access);
    const { namespace } = access;
    // Bindings in a namespace never allow anything outside.
    if (found !== undefined || access.path !== undefined || namespace === undefined || namespace === "") return found;
    return this.#findIn(places.get(namespace), access);
  }

  #findIn(grants: ReadonlyMap<string, Grant> | undefined, access: Access): Grant | undefined {
    if (grants === undefined) return undefined;
    for (const grant of grants.values()) {
      const role = this.#roles.get(grant.role);
      if (role !== undefined && allows(role, access)) return grant;
    }
    return undefined;
  }

  #take({ type, entry, previous }: StoreEvent, set: Setter, drop: Setter): void {
    const { namespace, name } = entry.key;
    if (previous !== undefined) drop(namespace, name, previous.object());
    if (type !== "delete") set(namespace, name, entry.object());
  }

  #setBinding(namespace: string, name: string, object: JsonObject): void {
    for (const [key, grant] of grantsOf(namespace, name, object)) {
      const places = getOrAdd(this.#grants, key, () => new Map<string, Map<string, Grant>>());
      const grants = getOrAdd(places, namespace, () => new Map<string, Grant>());
      grants.set(name, grant);
    }
  }

  #dropBinding(namespace: string, name: string, object: JsonObject): void {
    for (const [key] of grantsOf(namespace, name, object)) {
      const places = this.#grants.get(key);
      const grants = places?.get(namespace);
      grants?.delete(name);
      if (grants?.size === 0) places?.delete(namespace);
      if (places?.size === 0) this.#grants.delete(key);
    }
  }
}

type Setter = (namespace: string, name: string, object: JsonObject) => void;

/** Grants of a binding by subject; an account counts as the user of its tokens. */
function* grantsOf(namespace: string, name: string, binding: JsonObject): Generator<readonly [string, Grant]> {
  const kind = textAt(binding, "roleRef", "kind") ?? "";
  const roleName = textAt(binding, "roleRef", "name") ?? "";
  const isLocal = kind === "Role";
  const text = namespace === "" ? `ClusterRoleBinding "${name}"` : `RoleBinding "${name}/${namespace}"`;
  const grant = {
    binding: text,
    role: `${isLocal ? namespace : ""}/${roleName}`,
    roleText: `${kind} "${isLocal ? `${roleName}/${namespace}` : roleName}"`,
  };
  for (const subject of objectsAt(binding, "subjects")) {
    const own = textAt(subject, "name") ?? "";
    if (subject["kind"] === "ServiceAccount") {
      const home = textAt(subject, "namespace") ?? namespace;
      if (home === "") continue;
      yield [`User:${accountUser(home, own)}`, { ...grant, subject: `ServiceAccount "${own}/${home}"` }];
    } else if (subject["kind"] === "User" || subject["kind"] === "Group") {
      yield [`${subject["kind"]}:${own}`, { ...grant, subject: `${subject["kind"]} "${own}"` }];
    }
  }
}

export const accountUser = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`;
