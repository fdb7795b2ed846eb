import { type JsonObject, type JsonValue, listAt, objectAt, textAt } from "#lib/base/index.ts";
import {
  badRequest,
  invalid,
  invalidValue,
  required,
  type ResourceType,
  type StatusCause,
} from "#kernel/model/index.ts";
import type { Authorizer } from "../authorizer.ts";
import type { Access, Identity, TokenReviewer } from "../identity.ts";
import { ruleJson } from "../rbac/policy-rule.ts";

export interface ReviewSources {
  readonly authorizer: Authorizer;
  readonly tokens: TokenReviewer;
}

/** `object` is pruned and has valid types. */
export interface Question {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly object: JsonObject;
}

/** The object with its `status`; `identity` asks. Throws 422 for invalid questions, 400 without a namespace. */
export function answerReview(sources: ReviewSources, identity: Identity, question: Question): JsonObject {
  return { ...question.object, status: statusOf(sources, identity, question) };
}

function statusOf(sources: ReviewSources, identity: Identity, question: Question): JsonObject {
  const { authorizer, tokens } = sources;
  const { type, object } = question;
  switch (type.kind) {
    case "SelfSubjectReview":
      return { userInfo: userInfo(identity) };
    case "TokenReview":
      return tokenStatus(tokens, question);
    case "SelfSubjectRulesReview":
      return rulesStatus(authorizer, identity, object);
    case "SelfSubjectAccessReview":
      return accessStatus(authorizer, identity, question, []);
    default: {
      const { asked, causes } = askedFor(question);
      return accessStatus(authorizer, asked, question, causes);
    }
  }
}

export const userInfo = ({ user, uid, groups, extra }: Identity): JsonObject => ({
  username: user,
  ...(uid === undefined ? {} : { uid }),
  groups: [...groups],
  ...(extra === undefined ? {} : { extra: { ...extra } }),
});

/** Does not say what is wrong with a token: the caller might be guessing. */
function tokenStatus(tokens: TokenReviewer, { type, object }: Question): JsonObject {
  const token = textAt(object, "spec", "token");
  if (token === undefined) throw invalid(type, "", [required("spec.token", "a TokenReview requires a token")]);
  const audiences = textsAt(object, "spec", "audiences");
  const found = tokens.review(token, audiences);
  if (found === undefined) return { user: {}, error: "the token is not valid" };
  return {
    authenticated: true,
    user: userInfo(found.identity),
    ...(audiences.length === 0 ? {} : { audiences: found.audiences }),
  };
}

/** For `kubectl auth can-i --list`; `incomplete` when rules cannot express everything. */
function rulesStatus(authorizer: Authorizer, identity: Identity, object: JsonObject): JsonObject {
  const namespace = textAt(object, "spec", "namespace");
  if (namespace === undefined) throw badRequest("no namespace on request");
  const { rules, incomplete } = authorizer.rulesFor(identity, namespace);
  const isPaths = ({ nonResourceURLs }: (typeof rules)[number]) => nonResourceURLs.length > 0;
  return {
    resourceRules: rules.filter((rule) => !isPaths(rule)).map(ruleJson),
    nonResourceRules: rules.filter(isPaths).map(ruleJson),
    incomplete,
    ...(incomplete ? { evaluationError: "a role of the server has exceptions that rules cannot express" } : {}),
  };
}

function askedFor({ type, namespace, object }: Question): {
  readonly asked: Identity;
  readonly causes: readonly StatusCause[];
} {
  const user = textAt(object, "spec", "user") ?? "";
  const groups = textsAt(object, "spec", "groups");
  const causes: StatusCause[] = [];
  if (user === "" && groups.length === 0) {
    causes.push(invalidValue("spec.user", user, "at least one of user or group must be specified"));
  }
  const asked = textAt(object, "spec", "resourceAttributes", "namespace") ?? "";
  if (type.namespaced && asked !== namespace) {
    const why = `must match metadata.namespace: ${namespace}`;
    causes.push(invalidValue("spec.resourceAttributes.namespace", asked, why));
  }
  return { asked: { user, groups }, causes };
}

/** About a resource or a path, not both or neither. Reports all errors. */
function accessStatus(
  authorizer: Authorizer,
  identity: Identity,
  { type, object }: Question,
  known: readonly StatusCause[],
): JsonObject {
  const resource = objectAt(object, "spec", "resourceAttributes");
  const path = objectAt(object, "spec", "nonResourceAttributes");
  const causes = [...known];
  if ((resource === undefined) === (path === undefined)) {
    const why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    causes.push(invalidValue("spec.resourceAttributes", resource ?? null, why));
  }
  if (type.namespaced && path !== undefined) {
    causes.push(invalidValue("spec.nonResourceAttributes", path, "disallowed on this kind of request"));
  }
  if (causes.length > 0) throw invalid(type, "", causes);
  const access = resource === undefined ? pathAccess(path ?? {}) : resourceAccess(resource);
  const { allowed, reason } = authorizer.judge(identity, access);
  return { allowed, ...(reason === "" ? {} : { reason }) };
}

/** The verb is the HTTP method in lower case. */
const pathAccess = (asked: JsonObject): Access => ({
  verb: textAt(asked, "verb") ?? "",
  group: "",
  resource: "",
  path: textAt(asked, "path") ?? "",
});

/** Subresources as in rules (`pods/log`). Without a name, all objects. */
function resourceAccess(asked: JsonObject): Access {
  const subresource = textAt(asked, "subresource");
  const plural = textAt(asked, "resource") ?? "";
  const name = textAt(asked, "name");
  return {
    verb: textAt(asked, "verb") ?? "",
    group: textAt(asked, "group") ?? "",
    resource: subresource === undefined ? plural : `${plural}/${subresource}`,
    namespace: textAt(asked, "namespace") ?? "",
    ...(name === undefined ? {} : { name }),
  };
}

const textsAt = (object: JsonObject, ...path: readonly string[]): readonly string[] =>
  listAt(object, ...path).filter((value: JsonValue) => typeof value === "string");
