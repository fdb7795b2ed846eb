import { s } from "#lib/schema/index.ts";
import { environment, open, text, texts } from "./fields.ts";

/** A template as released: one text. */
export const TemplateSpec = open(
  { data: text("The tasks as YAML, in the language of Go's templates; rendered for each workflow.") },
  "What to do on a machine.",
);

/**
 * One action. Every text but its name is rendered; the result is what an agent is told, so that limits hold for the
 * texts as they are written.
 */
const action = open({
  name: s.string({ minLength: 1, description: "Unique in the template." }),
  image: s.string({ minLength: 1, description: "The container image that does it." }),
  cmd: s.optional(s.string({ pattern: "^(/[^/ ]*)+/?$", description: "Takes the place of the image's entrypoint." })),
  args: texts("Arguments of the entrypoint."),
  env: environment("Wins over the template's."),
  volumes: texts("SOURCE:TARGET[:OPTIONS]; wins over the template's of the same target."),
  namespaces: s.optional(
    s.object({
      network: text("host, or another network namespace."),
      pid: s.optional(s.intOrString({ description: "host, or another PID namespace." })),
    }),
  ),
});

/** A template of v1alpha2: a list of actions, every text of which is a template of its own. */
export const TemplateSpecV2 = open(
  {
    actions: s.list(action, { minItems: 1, key: "name", description: "Done one after the other." }),
    volumes: texts("Of every action: SOURCE:TARGET[:OPTIONS]."),
    env: environment("Of every action."),
  },
  "What to do on a machine.",
);

/** Of the released shape only: a list of actions is judged by its schema. */
export const TemplateStatus = open({
  state: s.optional(s.oneOf(["Ready", "Error"], { description: "Whether the text is a template at all." })),
  message: text("What is wrong with it."),
});
