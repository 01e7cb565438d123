/* SPDX-License-Identifier: BSD-3-Clause */
// The network of 02_mlp in C++17: no close, no status, vectors as they are.
// Prints the first and the last loss; exits 1 when it has not learned.
#include <lockstep.hpp>

#include <cstdio>
#include <exception>
#include <vector>

namespace {

constexpr int side = 8, rows = side * side, steps = 200;

// x on a grid over [-1,1] x [-1,1], y the product.
void make_data(std::vector<float> &xs, std::vector<float> &ys)
{
    for (int i = 0; i < rows; i++) {
        float a = static_cast<float>(i / side) * 2 / (side - 1) - 1;
        float b = static_cast<float>(i % side) * 2 / (side - 1) - 1;

        xs.insert(xs.end(), {a, b});
        ys.push_back(a * b);
    }
}

lockstep::graph build()
{
    lockstep::graph g;
    lockstep::node x = g.input<float>("x", {2});
    lockstep::node y = g.input<float>("y", {1});
    lockstep::node h = ls_gelu(ls_dense(x, 32, "hidden"));
    lockstep::node out = ls_dense(h, 1, "out");

    g.output(out, "product");
    g.loss(ls_mean_squared_error(out, y));
    return g;
}

int run()
{
    std::vector<float> xs, ys, product(rows);
    ls_trainer_options options = ls_trainer_defaults();
    lockstep::pool pool{lockstep::mesh()}; // 8 devices, all cores

    options.optimizer = ls_adam(1e-2);
    make_data(xs, ys);
    lockstep::trainer trainer(pool, build(), options);
    lockstep::batch batch(trainer);
    batch.set("x", xs, rows).set("y", ys, rows);
    float first = trainer.step(batch).loss, last = first;
    while (trainer.steps() < steps)
        last = trainer.step(batch).loss;

    lockstep::predictor predictor(trainer);
    lockstep::context context(predictor);
    context.set("x", xs, rows).predict("product", product);
    std::printf("loss %.4f, after %d steps %.4f; 1 x 1 is %.2f\n",
                static_cast<double>(first), steps, static_cast<double>(last),
                static_cast<double>(product[rows - 1]));
    return last < 0.01f ? 0 : 1;
}

} // namespace

int main()
{
    try {
        return run();
    } catch (const std::exception &e) {
        std::puts(e.what());
        return 1;
    }
}
