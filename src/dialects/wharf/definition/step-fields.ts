// The step types and their fields. Types, defaults, checks and suggestions are derived from these tables.

interface Field {
  readonly kind: "text" | "boolean" | "texts" | "map";
  readonly isRequired?: true;
  readonly initial?: string | boolean;
}

const text = { kind: "text" } as const;
const texts = { kind: "texts" } as const;
const map = { kind: "map" } as const;
const boolean = { kind: "boolean" } as const;
const requiredText = { kind: "text", isRequired: true } as const;
const requiredTexts = { kind: "texts", isRequired: true } as const;
const textOr = (initial: string) => ({ kind: "text", initial }) as const;
const booleanOr = (initial: boolean) => ({ kind: "boolean", initial }) as const;

/** Fields whose default depends on variables have none here; `plan/` sets it. */
export const stepFields = {
  container: {
    image: requiredText,
    /** Lines of one script. */
    cmds: requiredTexts,
    os: textOr("linux"),
    /** Called with `-c`; PowerShell on Windows by default. */
    shell: textOr("/bin/sh"),
    secretName: text,
    serviceAccount: textOr("default"),
    /** Mount path of the organisation's certificates. */
    certificatesMountPath: text,
    artifacts: texts,
    testResults: texts,
    env: map,
    /** A Go duration. */
    timeout: text,
  },
  docker: {
    file: requiredText,
    tag: requiredText,
    /** The full image name; otherwise it is built from the next three fields. */
    destination: text,
    name: text,
    group: text,
    registry: text,
    context: text,
    secret: text,
    "append-cert": boolean,
    push: booleanOr(true),
    args: texts,
    secretName: text,
    secretArgs: texts,
  },
  helm: {
    chart: requiredText,
    name: requiredText,
    namespace: requiredText,
    repo: text,
    set: map,
    /** Values files; variables in them are substituted. */
    files: texts,
    chartVersion: text,
    /** Image tag. */
    helmVersion: textOr("v2.14.1"),
    cluster: textOr("kubectl-config"),
    secret: text,
  },
  "helm-package": {
    version: text,
    "chart-path": textOr("."),
    destination: text,
    secret: text,
  },
  kubectl: {
    /** One of these two is required; variables in the files are substituted. */
    file: text,
    files: texts,
    namespace: text,
    action: textOr("apply"),
    /** Recreates resources that cannot be updated. */
    force: booleanOr(false),
    /** ConfigMap with the kubeconfig. */
    cluster: textOr("kubectl-config"),
  },
  "nuget-package": {
    version: requiredText,
    "project-path": requiredText,
    repo: requiredText,
    /** An existing version is no failure. */
    "skip-duplicate": booleanOr(false),
    /** Mount path of the organisation's certificates. */
    certificatesMountPath: text,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Field>>>>;

export type StepType = keyof typeof stepFields;

export const stepTypes: readonly StepType[] = [
  "container",
  "docker",
  "helm",
  "helm-package",
  "kubectl",
  "nuget-package",
];

export const isStepType = (name: string): name is StepType => Object.hasOwn(stepFields, name);

export const fieldsOf = (type: StepType): Readonly<Record<string, Field>> => stepFields[type];

interface ValueOfKind {
  readonly text: string;
  readonly boolean: boolean;
  readonly texts: readonly string[];
  readonly map: ReadonlyMap<string, string>;
}
/** Fields that every read step has. */
type Certain = { readonly isRequired: true } | { readonly initial: string | boolean };
type ValuesOf<Fields extends Readonly<Record<string, Field>>> = {
  readonly [Name in keyof Fields as Fields[Name] extends Certain ? Name : never]: ValueOfKind[Fields[Name]["kind"]];
} & {
  readonly [Name in keyof Fields as Fields[Name] extends Certain ? never : Name]?: ValueOfKind[Fields[Name]["kind"]];
};

export type StepValues<Type extends StepType> = ValuesOf<(typeof stepFields)[Type]>;
