import { ApiError, type ResourceType } from "#kernel/model/index.ts";
import type { Store } from "../store/store.ts";
import { builtInRulesOf, findBuiltInRole, type RoleSettings } from "./built-in-roles.ts";
import { type Access, type Identity, isMaster, mastersGroup } from "./identity.ts";
import { type PolicyRule, policyRule } from "./rbac/policy-rule.ts";
import { RuleIndex } from "./rbac/rule-index.ts";

/** An answer with its reason: who or what allows it; empty when nothing does. */
export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

/** What somebody may do in a namespace, as far as rules can say it. */
export interface GrantedRules {
  readonly rules: readonly PolicyRule[];
  /** True when something that the rules match is refused all the same. */
  readonly incomplete: boolean;
}

const everything = [
  policyRule({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }),
  policyRule({ verbs: ["*"], nonResourceURLs: ["*"] }),
];

/**
 * Who may do what: members of `system:masters` everything, others what the roles of Slipway and the roles and bindings in the store
 * allow. Nothing is ever denied by a rule. Answers are synchronous and follow the published state.
 *
 * The index is made at the first question about somebody who is no master, so a server that only this process uses has none.
 */
export class Authorizer {
  readonly #store: Pick<Store, "page" | "subscribe">;
  readonly #settings: RoleSettings;
  #index: RuleIndex | undefined;

  constructor(store: Pick<Store, "page" | "subscribe">, settings: RoleSettings = { hideLogsFromViewers: false }) {
    this.#store = store;
    this.#settings = settings;
  }

  /** Roles and bindings as stored. */
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

  /** As `allows`, with the reason, for those who ask about rights. */
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

/**
 * Throws 403 unless the caller may do it. The text is Kubernetes':
 * `pods "p" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n"`.
 */
export function authorize(authorizer: Authorizer, identity: Identity, access: Access): void {
  if (authorizer.allows(identity, access)) return;
  throw accessDenied(identity, access);
}

/** The refusal alone, for those who have asked themselves. */
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

/**
 * The access that a request on a kind means. A namespace is in itself: a role in it may allow to read it. `name` is empty for
 * collections.
 */
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
