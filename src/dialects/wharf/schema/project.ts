import { s } from "#lib/schema/index.ts";
import { conditions, flag, number, text, whole } from "./fields.ts";

// // The provider's values and overrides are separate, so that imports do not undo overrides.

export const ProjectSpec = s.object(
  {
    projectId: number,
    name: s.string({ minLength: 1, maxLength: 500, description: "Name of the repository." }),
    groupName: text("Where the repository is: the path before its name."),
    description: text("For people."),
    avatarUrl: text("A picture of it."),
    gitUrl: text("What workers clone; builds need it."),
    remoteProjectId: text("What the provider calls it."),
    providerId: whole("Who has told of it."),
    tokenSecretRef: s.optional(
      s.object(
        {
          name: s.string({ minLength: 1, description: "A Secret of this namespace." }),
          key: s.string({ default: "token", description: "The member that is the token." }),
        },
        { description: "What workers clone with." },
      ),
    ),
    buildDefinition: text("The text of its .wharf-ci.yml: what inputs a build has."),
    // // Merged by name, so that two appliers keep each other's branches.
    branches: s.optional(
      s.list(
        s.object({
          name: s.string({ minLength: 1, description: "Name of a branch." }),
          default: flag("Built when no branch is named; at most one is."),
        }),
        { key: "name", description: "Branches that are known." },
      ),
    ),
    overrides: s.optional(
      s.object(
        {
          description: text("Instead of the description above."),
          avatarUrl: text("Instead of the picture above."),
          gitUrl: text("Instead of the URL above."),
        },
        { description: "What people want otherwise than the provider tells it; empty texts change nothing." },
      ),
    ),
  },
  { description: "A repository and what is known of it." },
);

export const ProjectStatus = s.object({ conditions });
