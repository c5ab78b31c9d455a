// docs/api.yaml, to compare answers with. A property that it does not describe is a fault.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

type Json = Record<string, unknown>;

interface Response {
  $ref?: string;
  description: string;
  content: Record<string, { schema: Json; 'x-events'?: Record<string, Json> }>;
}

interface Document {
  paths: Record<string, { get: { responses: Record<string, Response> } }>;
  components: { responses: Record<string, Response>; schemas: Json };
}

export class ApiDescription {
  readonly #document: Document;
  readonly #ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true });

  constructor(file: string) {
    this.#document = parse(readFileSync(file, 'utf8')) as Document;
    close(this.#document);
    this.#ajv.addKeyword('components'); // the targets of each schema's references
  }

  get paths(): string[] {
    return Object.keys(this.#document.paths);
  }

  // Each "PATH STATUS" that is described. Errors of all paths alike are not among them.
  get responses(): string[] {
    return this.paths.flatMap((path) =>
      Object.keys(this.#responsesOf(path))
        .filter((status) => status !== 'default')
        .map((status) => `${path} ${status}`),
    );
  }

  // Returns the statuses that the description of the errors of all paths names.
  get commonErrors(): number[] {
    const { description } = this.#document.components.responses['Error']!;
    return [...description.matchAll(/\b\d{3}\b/g)].map(([status]) => Number(status));
  }

  // Returns what is wrong with an answer to GET. `path` is a key of the description's paths.
  faultsOf(path: string, status: number, type: string, body: unknown): string[] {
    let response = this.#responsesOf(path)[String(status)];
    if (response === undefined && this.commonErrors.includes(status)) {
      response = this.#responsesOf(path)['default'];
    }
    if (response === undefined) return [`the status ${status} is not described`];
    const content = this.#resolved(response).content[type];
    if (content === undefined) return [`the type ${type} is not described`];
    return this.#faults(content.schema, body);
  }

  faultsOfEvent(path: string, event: string, data: unknown): string[] {
    const schema = this.#responsesOf(path)['200']!.content['text/event-stream']!['x-events']![event];
    return schema === undefined ? [`the event ${event} is not described`] : this.#faults(schema, data);
  }

  #responsesOf(path: string): Record<string, Response> {
    const found = this.#document.paths[path];
    if (found === undefined) throw new Error(`${path} is not described`);
    return found.get.responses;
  }

  #resolved(response: Response): Response {
    const name = response.$ref?.split('/').at(-1);
    return name === undefined ? response : this.#document.components.responses[name]!;
  }

  #faults(schema: Json, data: unknown): string[] {
    const { components } = this.#document;
    const check = this.#ajv.compile({ ...schema, components });
    if (check(data)) return [];
    return (check.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${instancePath || 'the answer'} ${message} ${JSON.stringify(params)}`,
    );
  }
}

function close(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if ('properties' in value) Object.assign(value, { additionalProperties: false });
  for (const part of Object.values(value)) close(part);
}
