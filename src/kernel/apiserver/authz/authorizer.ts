import { ApiError, type ResourceType } from "#kernel/model/index.ts";
import type { Store } from "../store/store.ts";
import { builtInRulesOf, findBuiltInRole, type RoleSettings } from "./built-in-roles.ts";
import { type Access, type Identity, isMaster, mastersGroup } from "./identity.ts";
import { type PolicyRule, policyRule } from "./rbac/policy-rule.ts";
import { RuleIndex } from "./rbac/rule-index.ts";

/** `reason` is empty when nothing allows it. */
export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

export interface GrantedRules {
  readonly rules: readonly PolicyRule[];
  /** True when some requests that match the rules are refused. */
  readonly incomplete: boolean;
}

const everything = [
  policyRule({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }),
  policyRule({ verbs: ["*"], nonResourceURLs: ["*"] }),
];

/** Synchronous; follows the published state. The index is made when the first question is about a non-master. */
export class Authorizer {
  readonly #store: Pick<Store, "page" | "subscribe">;
  readonly #settings: RoleSettings;
  #index: RuleIndex | undefined;

  constructor(store: Pick<Store, "page" | "subscribe">, settings: RoleSettings = { hideLogsFromViewers: false }) {
    this.#store = store;
    this.#settings = settings;
  }

  get index(): RuleIndex {
    this.#index ??= new RuleIndex(this.#store);
    return this.#index;
  }

  allows(identity: Identity, access: Access): boolean {
    if (isMaster(identity)) return true;
    return (
      findBuiltInRole(identity, access, this.#settings) !== undefined || this.index.find(identity, access) !== undefined
    );
  }

  judge(identity: Identity, access: Access): Verdict {
    if (isMaster(identity)) return { allowed: true, reason: `member of ${mastersGroup}` };
    const builtIn = findBuiltInRole(identity, access, this.#settings);
    if (builtIn !== undefined) return { allowed: true, reason: `allowed by ${builtIn}` };
    const grant = this.index.find(identity, access);
    if (grant === undefined) return { allowed: false, reason: "" };
    const reason = `RBAC: allowed by ${grant.binding} of ${grant.roleText} to ${grant.subject}`;
    return { allowed: true, reason };
  }

  rulesFor(identity: Identity, namespace: string): GrantedRules {
    if (isMaster(identity)) return { rules: everything, incomplete: false };
    const builtIn = builtInRulesOf(identity, namespace, this.#settings);
    return {
      rules: [...builtIn.rules, ...this.index.rulesFor(identity, namespace)],
      incomplete: builtIn.hasExceptions,
    };
  }

  close(): void {
    this.#index?.close();
  }
}

/** Throws Kubernetes' 403 unless allowed. */
export function authorize(authorizer: Authorizer, identity: Identity, access: Access): void {
  if (authorizer.allows(identity, access)) return;
  throw accessDenied(identity, access);
}

export function accessDenied(identity: Identity, access: Access): ApiError {
  const { verb, group, resource, namespace, name, path } = access;
  if (path !== undefined) {
    return new ApiError("Forbidden", `forbidden: User ${JSON.stringify(identity.user)} cannot ${verb} path "${path}"`);
  }
  const place =
    namespace === undefined || namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const [plural = ""] = resource.split("/");
  const kind = group === "" ? plural : `${plural}.${group}`;
  const subject = name === undefined ? kind : `${kind} ${JSON.stringify(name)}`;
  return new ApiError(
    "Forbidden",
    `${subject} is forbidden: User ${JSON.stringify(identity.user)} cannot ${verb} resource "${resource}" in API group "${group}" ${place}`,
    {
      details: {
        ...(name === undefined ? {} : { name }),
        ...(group === "" ? {} : { group }),
        kind: plural,
      },
    },
  );
}

/** A namespace is inside itself: a role in it may allow reading it. `name` is empty for collections. */
export function accessTo(
  { group, plural }: Pick<ResourceType, "group" | "plural">,
  verb: string,
  target: { readonly namespace: string; readonly name: string; readonly subresource?: string },
): Access {
  const { namespace, name, subresource = "" } = target;
  const isNamespace = group === "" && plural === "namespaces";
  return {
    verb,
    group,
    resource: subresource === "" ? plural : `${plural}/${subresource}`,
    namespace: isNamespace ? name : namespace,
    ...(name === "" ? {} : { name }),
  };
}
