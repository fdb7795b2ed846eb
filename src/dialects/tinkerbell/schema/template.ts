import { s } from "#lib/schema/index.ts";
import { environment, open, text, texts } from "./fields.ts";

export const TemplateSpec = open(
  { data: text("The tasks as YAML, in the language of Go's templates; rendered for each workflow.") },
  "What to do on a machine.",
);

/** An action. Every text but its name is rendered; limits apply to the unrendered texts. */
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

export const TemplateSpecV2 = open(
  {
    actions: s.list(action, { minItems: 1, key: "name", description: "Done one after the other." }),
    volumes: texts("Of every action: SOURCE:TARGET[:OPTIONS]."),
    env: environment("Of every action."),
  },
  "What to do on a machine.",
);

export const TemplateStatus = open({
  state: s.optional(s.oneOf(["Ready", "Error"], { description: "Whether the text is a template at all." })),
  message: text("Description of the problem."),
});
