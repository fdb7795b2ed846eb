import { age, column, type Fields, kind, type ObjectOf, s } from "#lib/schema/index.ts";
import { flag, free, text } from "./fields.ts";
import { conditions, observedGeneration, useCase } from "./use-case.ts";

// What the steps helm-template, kustomize-patch and gitops did, as objects to look at and to wait for.

const source = s.string({ minLength: 1, description: "Git URL, path under an allowed root, or URL of a .tgz file." });
const path = text("Folder within the source.");

const status = s.object(
  {
    observedGeneration,
    commit: text("The commit that was read or pushed."),
    changed: flag("Whether the result differed from what was there."),
    message: text("Outcome, for people."),
    conditions,
  },
  { preserveUnknown: true },
);

const columns = [column("Commit", ".status.commit"), column("Message", ".status.message", { priority: 1 }), age()];

/** What a template is read from, with `more` of its kind. */
const templateSpec = <const F extends Fields>(more: F) =>
  s.object({ source, path, version: text("Branch, tag or commit."), ...more }, { preserveUnknown: true });

export const HelmTemplate = kind({
  ...useCase,
  kind: "HelmTemplate",
  plural: "helmtemplates",
  description: "A Helm chart that renders an Application.",
  spec: templateSpec({ parameters: free("Values of the chart.") }),
  status,
  columns,
});
export type HelmTemplate = ObjectOf<typeof HelmTemplate>;

export const KustomizePatch = kind({
  ...useCase,
  kind: "KustomizePatch",
  plural: "kustomizepatches",
  description: "A kustomization that renders an Application, and a patch of it.",
  spec: templateSpec({ patch: free("Merged into the Application.") }),
  status,
  columns,
});
export type KustomizePatch = ObjectOf<typeof KustomizePatch>;

export const GitPush = kind({
  ...useCase,
  kind: "GitPush",
  plural: "gitpushes",
  description: "Rendered objects that are pushed to a Git repository.",
  spec: s.object(
    {
      gitRepo: s.string({ minLength: 1, description: "URL of the repository." }),
      branch: s.string({ minLength: 1, description: "The branch to push to." }),
      path,
      layout: s.optional(s.oneOf(["files", "single"], { description: "A file per object, or one file." })),
    },
    { preserveUnknown: true },
  ),
  status,
  columns,
});
export type GitPush = ObjectOf<typeof GitPush>;
