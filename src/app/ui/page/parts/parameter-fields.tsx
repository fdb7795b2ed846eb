import type { Signal } from "@preact/signals";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { StartParameter } from "#app/ui/wire.ts";
import { Field, type FormField } from "./field.tsx";

const fieldOf = ({ name, description, type, default: initial, options, isRequired }: StartParameter): FormField => ({
  path: ["values", name],
  type: options !== undefined ? "choice" : type === "boolean" || type === "number" ? type : "text",
  description: description ?? "",
  options: options ?? [],
  isRequired,
  initial: initial ?? "",
});

interface ParameterFieldsProps {
  readonly parameters: readonly StartParameter[];
  /** What was filled in, by name. */
  readonly values: Signal<Readonly<Record<string, string>>>;
}

/** One field for each declared parameter. */
export const ParameterFields = ({ parameters, values }: ParameterFieldsProps) => (
  <div class="start-form">
    {parameters.map((parameter) => (
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
);

/** With the types that are declared; whether they fit, the server says. */
export const valuesOf = (parameters: readonly StartParameter[], texts: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(
    parameters.flatMap(({ name, type }): readonly (readonly [string, JsonValue])[] => {
      const text = texts[name];
      if (text === undefined) return [];
      if (type === "boolean") return [[name, text === "true"]];
      return [[name, type === "number" && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text]];
    }),
  );
