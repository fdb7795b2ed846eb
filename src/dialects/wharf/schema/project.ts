import { s } from "#lib/schema/index.ts";
import { conditions, flag, number, text, whole } from "./fields.ts";

// The provider's values and overrides are separate, so that imports do not undo overrides.

export const ProjectSpec = s.object(
  {
    projectId: number,
    name: s.string({ minLength: 1, maxLength: 500, description: "Name of the repository." }),
    groupName: text("Group of the repository: the path before its name."),
    description: text("Human-readable description."),
    avatarUrl: text("URL of an avatar."),
    gitUrl: text("Address to clone; required for builds."),
    remoteProjectId: text("Id of the project at its provider."),
    providerId: whole("Id of the provider."),
    tokenSecretRef: s.optional(
      s.object(
        {
          name: s.string({ minLength: 1, description: "Name of a Secret in this namespace." }),
          key: s.string({ default: "token", description: "Key of the token." }),
        },
        { description: "Token to clone with." },
      ),
    ),
    buildDefinition: text("Text of the .wharf-ci.yml, which declares the inputs."),
    // Merged by name, so that two appliers keep each other's branches.
    branches: s.optional(
      s.list(
        s.object({
          name: s.string({ minLength: 1, description: "Name of the branch." }),
          default: flag("The default branch; at most one."),
        }),
        { key: "name", description: "Known branches." },
      ),
    ),
    overrides: s.optional(
      s.object(
        {
          description: text("Overrides description."),
          avatarUrl: text("Overrides avatarUrl."),
          gitUrl: text("Overrides gitUrl."),
        },
        { description: "Values that override the provider's; empty texts are ignored." },
      ),
    ),
  },
  { description: "A repository to build." },
);

export const ProjectStatus = s.object({ conditions });
