/* SPDX-License-Identifier: BSD-3-Clause */
// Proves that lockstep.hpp is what it says: the bytes of the C calls, an
// exception with status and words for a status, handles that can be moved and
// close once, and a model that goes through a file.
#include <lockstep.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

int failures;

void expect(bool is, const char *what)
{
    if (!is)
        std::printf("FAIL: %s\n", what);
    failures += !is;
}

// Whether a call throws that status in words that hold these.
template <typename Call>
bool throws(Call &&call, int status, const char *words)
{
    try {
        call();
    } catch (const lockstep::error &e) {
        return e.status() == status && std::strstr(e.what(), words);
    }
    return false;
}

lockstep::graph build()
{
    lockstep::graph g;
    lockstep::node x = g.input<float>("x", {3});
    lockstep::node label = g.input<std::int32_t>("label");
    lockstep::node h = ls_tanh(ls_dense(x, 3, "hidden"));
    lockstep::node y = ls_dense(h + x, 4, "out");

    expect(y.shape() == std::vector<std::int64_t>{4}, "a node's shape");
    g.output(y, "logits").loss(ls_cross_entropy(y, label));
    return g;
}

// The same in C: its hash after three steps.
std::string in_c(ls_pool *pool, const float *x, const std::int32_t *label)
{
    ls_graph *g = nullptr;
    ls_trainer *t = nullptr;
    ls_batch *b = nullptr;
    const std::int64_t three[] = {3};
    ls_result r;
    char hex[65] = "";

    ls_graph_new(&g);
    ls_node *in = ls_input(g, "x", LS_F32, 1, three);
    ls_node *to = ls_input(g, "label", LS_I32, 0, nullptr);
    ls_node *h = ls_tanh(ls_dense(in, 3, "hidden"));
    ls_node *y = ls_dense(ls_add(h, in), 4, "out");
    ls_output(g, y, "logits");
    ls_loss(g, ls_cross_entropy(y, to));
    ls_trainer_open(&t, pool, g, nullptr);
    ls_batch_open(&b, t);
    ls_batch_set(b, "x", LS_F32, x, 8);
    ls_batch_set(b, "label", LS_I32, label, 8);
    for (int i = 0; i < 3; i++)
        ls_step(t, b, &r);
    ls_trainer_hash(t, hex);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    return hex;
}

void train(ls_pool *pool, const std::string &file)
{
    std::array<float, 24> x{};
    std::vector<std::int32_t> label = {0, 1, 2, 3, 0, 1, 2, 3};
    std::vector<float> a(32), b(32), bias(4);

    for (std::size_t i = 0; i < x.size(); i++)
        x[i] = static_cast<float>(i % 7) - 3;
    lockstep::trainer first(pool, build());
    lockstep::trainer t = std::move(first);
    lockstep::batch rows(t);
    rows.set("x", x, 8).set("label", label, 8);
    for (int i = 0; i < 3; i++)
        t.step(rows);
    expect(t.steps() == 3, "three steps");
    expect(t.hash() == in_c(pool, x.data(), label.data()),
           "the bytes of the C calls");
    expect(t.params().size() == 4 && t.params()[0] == "hidden.bias", "params");
    t.get_values("out.bias", bias);
    bias[2] = 0.5f;
    t.set_values("out.bias", bias);
    t.predict(rows, "logits", a);
    t.save_model(file);

    lockstep::predictor from_file(file), from_trainer(t);
    lockstep::context one(from_file), other(from_trainer);
    one.set("x", x, 8).predict("logits", b);
    expect(a == b, "a file predicts what the trainer does");
    other.set("x", x, 8).predict("logits", b);
    expect(a == b, "a predictor predicts what the trainer does");
    lockstep::trainer again(pool, lockstep::graph(file));
    again.load(file);
    lockstep::batch same(again);
    same.set("x", x, 8).set("label", label, 8);
    expect(again.evaluate(same).loss == t.evaluate(rows).loss,
           "a trainer from a file");
    expect(throws([&] { t.predict(rows, "none", a); }, LS_ENOTFOUND, "none"),
           "no such output");
    expect(throws([&] { rows.set("x", label, 8); }, LS_EINVAL, "x"),
           "another type");
}

int double_it(void *user, ls_gradients *g, const ls_result *)
{
    std::vector<float> d(4);

    if (ls_gradients_get(g, "out.bias", 4, d.data()) < 0)
        return -1;
    for (float &v : d)
        v *= 2;
    ++*static_cast<int *>(user);
    return ls_gradients_set(g, "out.bias", 4, d.data());
}

// By hand as by the step, and by the function between.
void gradients(const lockstep::pool &pool)
{
    std::vector<float> x(8 * 3), by_x(8 * 3), a(4), b(4), both(4);
    std::vector<std::int32_t> label = {0, 1, 2, 0, 1, 2, 0, 1};
    int calls = 0;

    for (std::size_t i = 0; i < x.size(); i++)
        x[i] = static_cast<float>(i % 7) - 3;
    lockstep::trainer t(pool, build()), other(pool, build());
    lockstep::batch rows(t), same(other);
    rows.set("x", x, 8).set("label", label, 8);
    same.set("x", x, 8).set("label", label, 8);
    {
        lockstep::gradients g(t, 2);
        expect(!g.compute(rows).updated, "nothing is updated");
        g.get_values("out.bias", a);
        expect(g.add(rows).add(rows).mean().loss == t.evaluate(rows).loss,
               "the loss of two equal batches");
        g.get_values("out.bias", b);
        expect(a == b, "the mean of two equal batches");
        g.compute(rows);
        g.get_device(0, "out.bias", b);
        g.get_device(1, "out.bias", both);
        expect((b[0] + both[0]) / 8 == a[0], "the devices' own");
        expect(g.apply().updated, "an update");
        other.step(same);
        expect(t.hash() == other.hash(), "the bytes of a step");
        expect(throws([&] { g.get_values("none", a); }, LS_ENOTFOUND, "none"),
               "no such parameter");
        g.clear();
        g.get_values("out.bias", b);
        expect(b == std::vector<float>(4), "zeros");

        g.compute(rows);
        g.get_values("out.bias", a);
        for (float &v : a)
            v *= 2;
        g.set_values("out.bias", a);
        g.apply();
    }
    lockstep::gradients between(other);
    between.between(double_it, &calls);
    other.step(same);
    expect(calls == 1 && t.hash() == other.hash(), "a changed gradient");
    t.input_gradient(rows, false, "x", by_x);
    expect(by_x != std::vector<float>(8 * 3), "the gradient by an input");
    expect(throws([&] { t.input_gradient(rows, false, "x", a); }, LS_ESHAPE,
                  "x"),
           "a gradient of another size");
}

// What was told once is not told again of another call, and a builder that
// failed has left nothing behind: the bytes are those of a graph without it.
void errors_pass(const lockstep::pool &pool)
{
    lockstep::graph g;
    lockstep::node x = g.input<float>("x", {3});
    lockstep::trainer plain(pool, build());

    expect(throws([&] { g.input<float>("x", {2}); }, LS_EINVAL, "twice"),
           "an input twice");
    lockstep::node label = g.input<std::int32_t>("label");
    expect(throws([&] { lockstep::node(ls_mean_squared_error(x, label)); },
                  LS_EINVAL, "squared error"),
           "a loss of labels");
    expect(throws(
               [&] {
                   lockstep::node(
                       ls_tanh(ls_dense(x + ls_dense(x, -1, "h"), 3, "a")));
               },
               LS_EINVAL, "\"h\""),
           "the words of the innermost");
    lockstep::node h = ls_tanh(ls_dense(x, 3, "hidden"));
    expect(throws([&] { lockstep::node(ls_dense(h, 4, "hidden")); }, LS_EINVAL,
                  "twice"),
           "a name twice");
    lockstep::node y = ls_dense(h + x, 4, "out");
    g.loss(ls_cross_entropy(y, label));
    expect(throws([&] { g.loss(ls_cross_entropy(y, label)); }, LS_EINVAL,
                  "has a loss"),
           "a second loss");
    g.output(y, "logits");
    expect(lockstep::trainer(pool, g).hash() == plain.hash(),
           "the bytes of a graph without errors");
}

// Numbers beside nodes are scales and shifts.
void numbers(const lockstep::pool &pool)
{
    lockstep::graph g;
    lockstep::node x = g.input<float>("x", {2});
    lockstep::node y = ls_dense(x, 2, "h");
    const float in[] = {1, 4};
    float out[2];

    g.output(0.5 * x + 1 - x * 2L, "a").output(1 - x / 4, "b");
    g.output(8 / (x - 2.0f) + 0, "c").output(-1u + (2u + x), "d");
    g.loss(ls_mean_loss(y, nullptr));
    lockstep::predictor p(lockstep::trainer(pool, g));
    lockstep::context one(p);
    auto gives = [&](const char *name, float first, float second) {
        one.set("x", lockstep::view<const float>(in), 1).predict(name, out);
        expect(out[0] == first && out[1] == second, name);
    };
    gives("a", -0.5f, -5);
    gives("b", 0.75f, 0);
    gives("c", -8, 4);
    gives("d", 4294967296.f, 4294967296.f);
}

// A view has a size, and nothing is read behind it.
void views(const lockstep::pool &pool)
{
    lockstep::trainer t(pool, build());
    lockstep::batch rows(t);
    lockstep::predictor p(t);
    lockstep::context one(p);
    std::vector<float> x(9);
    std::vector<std::int32_t> label(2);

    expect(throws([&] { rows.set("x", x, 10); }, LS_ESHAPE,
                  "10 rows of 3 elements need 30, and the data has 9"),
           "a batch's view that is short");
    expect(throws([&] { rows.set("label", label, 3); }, LS_ESHAPE, "has 2"),
           "labels that are short");
    expect(throws([&] { one.set("x", x, 4); }, LS_ESHAPE, "need 12"),
           "a context's view that is short");
    rows.set("x", x, 2).set("label", label, 2);
    expect(t.step(rows).rows == 2, "a view may be longer");
}

} // namespace

int main(int argc, char **argv)
{
    ls_mesh_options two = ls_mesh_defaults();
    ls_pool_options loose = ls_pool_defaults();

    two.devices = 2;
    loose.no_pin = true;
    lockstep::mesh mesh(two);
    lockstep::pool pool(mesh, loose);
    expect(mesh.devices() == 2, "two devices");
    two.devices = -1;
    expect(throws([&] { lockstep::mesh bad(two); }, LS_EINVAL, "devices"),
           "a mesh that cannot be");
    lockstep::graph g;
    expect(throws([&] { g.input<float>("x", {-1}); }, LS_EINVAL, "shape"),
           "a shape that is none");
    if (argc > 1)
        train(pool, argv[1]);
    gradients(pool);
    errors_pass(pool);
    views(pool);
    numbers(pool);
    std::printf("%d failures\n", failures);
    return failures || argc < 2;
}
