import type { ResourceType } from "#kernel/model/index.ts";
import { definitionNames } from "#kernel/specs/index.ts";
import { nameColumn } from "../tables/columns.ts";
import type { BuiltIn, TableView } from "./built-in.ts";

// Questions in the form of objects: a client creates one and gets it back with the answer as its status. Nothing is stored, so that
// `create` is all that can be done with them. What is asked and answered is in authz/reviews.

const authentication = { group: "authentication.k8s.io", version: "v1" } as const;
const authorization = { group: "authorization.k8s.io", version: "v1" } as const;

/** No object is ever listed; discovery and OpenAPI ask every kind for columns. */
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
/** May somebody do this in the namespace of the question? For those who may only ask about their own namespace. */
export const localSubjectAccessReviewKind = review(
  { ...authorization, kind: "LocalSubjectAccessReview", plural: "localsubjectaccessreviews", namespaced: true },
  definitionNames.localSubjectAccessReview,
);
