import { useSignal } from "@preact/signals";
import type { LintRequest, StartableObject, StartParameter } from "#app/ui/wire.ts";
import { Field } from "./kind-form.tsx";
import type { FormField } from "./form-fields.ts";

const fieldOf = ({ name, description, type, default: initial, options, isRequired }: StartParameter): FormField => ({
  path: ["arguments", name],
  type: options !== undefined ? "choice" : type === "boolean" || type === "number" ? type : "text",
  description: description ?? "",
  options: options ?? [],
  isRequired,
  initial: initial ?? "",
});

/** The parameters of a stored object. */
export function TemplateForm({
  object,
  onCheck,
}: {
  readonly object: StartableObject;
  readonly onCheck: (request: LintRequest) => void;
}) {
  const values = useSignal<Readonly<Record<string, string>>>({});
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onCheck({ start: object.ref, arguments: values.value });
      }}
    >
      {object.parameters.length === 0 && <p class="muted">It declares no parameters.</p>}
      <div class="start-form">
        {object.parameters.map((parameter) => (
          <Field
            key={parameter.name}
            field={fieldOf(parameter)}
            value={values.value[parameter.name]}
            onChange={(_, value) => {
              const { [parameter.name]: _before, ...others } = values.value;
              values.value = value === "" ? others : { ...others, [parameter.name]: value };
            }}
          />
        ))}
      </div>
      <p class="buttons">
        <button type="submit" class="primary">
          Check
        </button>
      </p>
    </form>
  );
}
