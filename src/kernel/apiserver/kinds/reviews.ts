import type { ResourceType } from "#kernel/model/index.ts";
import { definitionNames } from "#kernel/specs/index.ts";
import { nameColumn } from "../tables/columns.ts";
import type { BuiltIn, TableView } from "./built-in.ts";

// Questions as objects: a create returns the answer in the status and stores nothing. authz/reviews answers them.

const authentication = { group: "authentication.k8s.io", version: "v1" } as const;
const authorization = { group: "authorization.k8s.io", version: "v1" } as const;

/** Never listed; discovery and OpenAPI need columns. */
const table: TableView = { columns: [nameColumn], row: () => [""] };

const review = (type: ResourceType, definition: string): BuiltIn => ({
  type,
  definition,
  table,
  verbs: ["create"],
  isReview: true,
});

const cluster = (group: typeof authentication | typeof authorization, kind: string, plural: string): ResourceType => ({
  ...group,
  kind,
  plural,
  namespaced: false,
});

/** Who am I? (KEP-3325) */
export const selfSubjectReviewKind = review(
  cluster(authentication, "SelfSubjectReview", "selfsubjectreviews"),
  definitionNames.selfSubjectReview,
);
/** Whose token is this? */
export const tokenReviewKind = review(
  cluster(authentication, "TokenReview", "tokenreviews"),
  definitionNames.tokenReview,
);
/** May I do this? */
export const selfSubjectAccessReviewKind = review(
  cluster(authorization, "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
  definitionNames.selfSubjectAccessReview,
);
/** What may I do in a namespace? */
export const selfSubjectRulesReviewKind = review(
  cluster(authorization, "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
  definitionNames.selfSubjectRulesReview,
);
/** May somebody do this? */
export const subjectAccessReviewKind = review(
  cluster(authorization, "SubjectAccessReview", "subjectaccessreviews"),
  definitionNames.subjectAccessReview,
);
/** For those who may ask about their own namespace only. */
export const localSubjectAccessReviewKind = review(
  { ...authorization, kind: "LocalSubjectAccessReview", plural: "localsubjectaccessreviews", namespaced: true },
  definitionNames.localSubjectAccessReview,
);
