/* SPDX-License-Identifier: BSD-3-Clause */
// lockstep for C++17: handles that close themselves, views of arrays, and
// exceptions for statuses.  It adds nothing to what lockstep.h does, and a
// handle can be given to any function of lockstep.h.
//
//     lockstep::mesh mesh;                        // 8 devices, all cores
//     lockstep::pool pool(mesh);
//     lockstep::graph g;
//     auto x = g.input<float>("x", {2}), y = g.input<float>("y", {1});
//     lockstep::node h = ls_gelu(ls_dense(x, 32, "hidden"));
//     g.loss(ls_mean_squared_error(ls_dense(h, 1, "out"), y));
//     lockstep::trainer t(pool, g, options);
//     lockstep::batch b(t);
//     b.set("x", xs, 64).set("y", ys, 64);        // std::vector<float>
//     std::cout << t.step(b).loss;
//
// A failure is a lockstep::error, whose text is ls_errmsg().  What is borrowed
// in lockstep.h is borrowed here.  Never let an exception out of a function
// that lockstep calls.
#ifndef LOCKSTEP_HPP
#define LOCKSTEP_HPP

#include <lockstep.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep {

// ------ Errors ------

class error : public std::runtime_error {
public:
    explicit error(int status)
        : std::runtime_error(ls_errmsg()), status_(status)
    {
    }
    // One of LS_ERRORS.
    int status() const noexcept
    {
        return status_;
    }

private:
    int status_;
};

// Throws error for a negative status and returns what is none.
inline int check(int status)
{
    if (status < 0)
        throw error(status);
    return status;
}

// ------ Views ------

// Elements in a row that somebody else owns: a pointer and a number, from
// std::vector, std::array, std::span and all that has data() and size().
template <typename T> class view {
public:
    constexpr view() noexcept = default;
    constexpr view(T *data, std::size_t size) noexcept
        : data_(data), size_(size)
    {
    }
    template <std::size_t N>
    constexpr view(T (&array)[N]) noexcept : data_(array), size_(N)
    {
    }
    template <typename Array,
              typename = std::enable_if_t<std::is_convertible_v<
                  decltype(std::declval<Array &>().data()), T *>>>
    constexpr view(Array &&array) noexcept
        : data_(array.data()), size_(array.size())
    {
        // A temporary would be gone before the view is used.
        static_assert(std::is_lvalue_reference_v<Array> ||
                          std::is_trivially_copyable_v<std::decay_t<Array>>,
                      "a view of a container that is about to end");
    }
    constexpr T *data() const noexcept
    {
        return data_;
    }
    constexpr std::size_t size() const noexcept
    {
        return size_;
    }
    constexpr T *begin() const noexcept
    {
        return data_;
    }
    constexpr T *end() const noexcept
    {
        return data_ + size_;
    }
    constexpr T &operator[](std::size_t i) const noexcept
    {
        return data_[i];
    }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// LS_F32 or LS_I32.
template <typename T> constexpr ls_dtype dtype_of()
{
    using plain = std::remove_const_t<T>;

    static_assert(std::is_same_v<plain, float> ||
                      std::is_same_v<plain, std::int32_t>,
                  "graphs have float and int32_t");
    return std::is_same_v<plain, float> ? LS_F32 : LS_I32;
}

// ------ Handles ------

// Owns what a C function opened, and converts to its pointer.
template <typename T, void (*Close)(T *)> class handle {
public:
    explicit handle(T *of) noexcept : of_(of)
    {
    }
    T *get() const noexcept
    {
        return of_.get();
    }
    operator T *() const noexcept
    {
        return get();
    }

private:
    struct closer {
        void operator()(T *of) const noexcept
        {
            Close(of);
        }
    };
    std::unique_ptr<T, closer> of_;
};

// The object that `open`, a function of a T **, opened.
template <typename T, typename Open> T *opened(Open &&open)
{
    T *of = nullptr;

    check(open(&of));
    return of;
}

class mesh : public handle<ls_mesh, ls_mesh_close> {
public:
    explicit mesh(const ls_mesh_options &options = ls_mesh_defaults())
        : handle(opened<ls_mesh>(
              [&](ls_mesh **m) { return ls_mesh_open(m, &options); }))
    {
    }
    int devices() const
    {
        return ls_mesh_devices(get());
    }
    int workers() const
    {
        return ls_mesh_workers(get());
    }
    std::string text() const
    {
        return ls_mesh_text(get());
    }
};

class pool : public handle<ls_pool, ls_pool_close> {
public:
    explicit pool(const ls_mesh *plan,
                  const ls_pool_options &options = ls_pool_defaults())
        : handle(opened<ls_pool>(
              [&](ls_pool **p) { return ls_pool_open(p, plan, &options); }))
    {
    }
};

// ------ Graphs ------

// A node, which the graph owns.  A builder that fails throws here, where in C
// it returns NULL: with its words, and always with LS_EINVAL.
class node {
public:
    node(ls_node *of) : of_(of)
    {
        if (!of)
            throw error(LS_EINVAL);
    }
    operator ls_node *() const noexcept
    {
        return of_;
    }
    std::vector<std::int64_t> shape() const
    {
        std::int64_t shape[LS_MAX_RANK];
        int rank = ls_node_shape(of_, shape);

        return {shape, shape + rank};
    }

private:
    ls_node *of_;
};

inline node operator+(const node &a, const node &b)
{
    return ls_add(a, b);
}
inline node operator-(const node &a, const node &b)
{
    return ls_sub(a, b);
}
inline node operator*(const node &a, const node &b)
{
    return ls_mul(a, b);
}
inline node operator/(const node &a, const node &b)
{
    return ls_div(a, b);
}
inline node operator-(const node &x)
{
    return ls_neg(x);
}

// A number of any type beside a node; x / 3 is x times 1 / 3.
template <typename T>
using number = std::enable_if_t<std::is_arithmetic_v<T>, double>;

template <typename T, typename = number<T>> node operator+(const node &x, T v)
{
    return ls_scale_shift(x, 1, static_cast<double>(v));
}
template <typename T, typename = number<T>> node operator+(T v, const node &x)
{
    return x + v;
}
template <typename T, typename = number<T>> node operator-(const node &x, T v)
{
    return ls_scale_shift(x, 1, -static_cast<double>(v));
}
template <typename T, typename = number<T>> node operator-(T v, const node &x)
{
    return ls_scale_shift(x, -1, static_cast<double>(v));
}
template <typename T, typename = number<T>> node operator*(const node &x, T v)
{
    return ls_scale_shift(x, static_cast<double>(v), 0);
}
template <typename T, typename = number<T>> node operator*(T v, const node &x)
{
    return x * v;
}
template <typename T, typename = number<T>> node operator/(const node &x, T v)
{
    return ls_scale_shift(x, 1 / static_cast<double>(v), 0);
}
template <typename T, typename = number<T>> node operator/(T v, const node &x)
{
    return v * node(ls_pow(x, -1));
}

// A builder that throws leaves the graph as it was, and the next call is judged
// by itself (ls_graph_errors_pass).
class graph : public handle<ls_graph, ls_graph_free> {
public:
    graph() : handle(opened<ls_graph>(ls_graph_new))
    {
        ls_graph_errors_pass(get(), true);
    }
    // The graph of a model file.
    explicit graph(const std::string &path)
        : handle(opened<ls_graph>(
              [&](ls_graph **g) { return ls_graph_load(g, path.c_str()); }))
    {
        ls_graph_errors_pass(get(), true);
    }
    template <typename T>
    node input(const char *name, std::initializer_list<std::int64_t> shape = {})
    {
        return ls_input(get(), name, dtype_of<T>(),
                        static_cast<int>(shape.size()), shape.begin());
    }
    node parameter(const char *name,
                   std::initializer_list<std::int64_t> shape = {})
    {
        return ls_parameter(get(), name, static_cast<int>(shape.size()),
                            shape.begin());
    }
    node buffer(const char *name,
                std::initializer_list<std::int64_t> shape = {})
    {
        return ls_buffer(get(), name, static_cast<int>(shape.size()),
                         shape.begin());
    }
    graph &output(const node &n, const char *name)
    {
        check(ls_output(get(), n, name));
        return *this;
    }
    // Returns its place in ls_result.metric.
    int metric(const node &n)
    {
        return check(ls_metric(get(), n));
    }
    graph &loss(const node &n)
    {
        check(ls_loss(get(), n));
        return *this;
    }
};

// ------ Training ------

class batch;

class trainer : public handle<ls_trainer, ls_trainer_close> {
public:
    trainer(ls_pool *workers, const ls_graph *model,
            const ls_trainer_options &options = ls_trainer_defaults())
        : handle(opened<ls_trainer>([&](ls_trainer **t) {
              return ls_trainer_open(t, workers, model, &options);
          }))
    {
    }
    ls_result step(const ls_batch *rows)
    {
        ls_result r;

        check(ls_step(get(), rows, &r));
        return r;
    }
    ls_result evaluate(const ls_batch *rows)
    {
        ls_result r;

        check(ls_evaluate(get(), rows, &r));
        return r;
    }
    void predict(const ls_batch *rows, const char *output, view<float> out)
    {
        check(ls_predict(get(), rows, output,
                         static_cast<std::int64_t>(out.size()), out.data()));
    }
    // The gradient by a float input, one for each of its elements.
    void input_gradient(const ls_batch *rows, bool train, const char *input,
                        view<float> out)
    {
        check(ls_input_gradient(get(), rows, train, input,
                                static_cast<std::int64_t>(out.size()),
                                out.data()));
    }
    std::vector<std::string> params() const
    {
        std::vector<std::string> names;

        for (int i = 0; i < ls_trainer_params(get()); i++)
            names.emplace_back(ls_trainer_param_name(get(), i));
        return names;
    }
    void get_values(const char *name, view<float> out) const
    {
        check(ls_trainer_get(get(), name,
                             static_cast<std::int64_t>(out.size()),
                             out.data()));
    }
    void set_values(const char *name, view<const float> values)
    {
        check(ls_trainer_set(get(), name,
                             static_cast<std::int64_t>(values.size()),
                             values.data()));
    }
    std::int64_t steps() const
    {
        return ls_trainer_step(get());
    }
    std::string hash()
    {
        char hex[65];

        check(ls_trainer_hash(get(), hex));
        return hex;
    }
    void save(const std::string &path) const
    {
        check(ls_trainer_save(get(), path.c_str()));
    }
    void save_model(const std::string &path) const
    {
        check(ls_trainer_save_model(get(), path.c_str()));
    }
    void load(const std::string &path, const char *names = nullptr)
    {
        check(ls_trainer_load(get(), path.c_str(), names));
    }
};

class batch : public handle<ls_batch, ls_batch_close> {
public:
    explicit batch(const ls_trainer *t)
        : handle(opened<ls_batch>(
              [&](ls_batch **b) { return ls_batch_open(b, t); }))
    {
    }
    // The data is borrowed, not copied, until it is set again: each input needs
    // an array of its own, with all of the rows.
    batch &set(const char *input, view<const float> data, std::int64_t rows)
    {
        return set_any(input, data, rows);
    }
    batch &set(const char *input, view<const std::int32_t> data,
               std::int64_t rows)
    {
        return set_any(input, data, rows);
    }
    batch &weights(view<const float> weights)
    {
        check(ls_batch_set_weights(get(), weights.data(),
                                   static_cast<std::int64_t>(weights.size())));
        return *this;
    }

private:
    template <typename T>
    batch &set_any(const char *input, view<const T> data, std::int64_t rows)
    {
        check(ls_batch_set_view(get(), input, dtype_of<T>(),
                                static_cast<std::int64_t>(data.size()),
                                data.data(), rows));
        return *this;
    }
};

// A gradient in hand: compute, look, change, apply (lockstep/gradients.h).
class gradients : public handle<ls_gradients, ls_gradients_close> {
public:
    // With room to add up (accumulate) that many batches.
    explicit gradients(ls_trainer *t, int batches = 1)
        : handle(opened<ls_gradients>([&](ls_gradients **g) {
              return ls_gradients_open(g, t, batches);
          }))
    {
    }
    ls_result compute(const ls_batch *rows)
    {
        ls_result r;

        check(ls_gradients_compute(get(), rows, &r));
        return r;
    }
    gradients &add(const ls_batch *rows)
    {
        check(ls_gradients_add(get(), rows));
        return *this;
    }
    ls_result mean()
    {
        ls_result r;

        check(ls_gradients_mean(get(), &r));
        return r;
    }
    void get_values(const char *name, view<float> out) const
    {
        check(ls_gradients_get(get(), name,
                               static_cast<std::int64_t>(out.size()),
                               out.data()));
    }
    void get_device(int device, const char *name, view<float> out) const
    {
        check(ls_gradients_get_device(get(), device, name,
                                      static_cast<std::int64_t>(out.size()),
                                      out.data()));
    }
    void set_values(const char *name, view<const float> values)
    {
        check(ls_gradients_set(get(), name,
                               static_cast<std::int64_t>(values.size()),
                               values.data()));
    }
    void clear()
    {
        ls_gradients_clear(get());
    }
    ls_result apply()
    {
        ls_result r;

        check(ls_gradients_apply(get(), &r));
        return r;
    }
    // The function must not throw.
    void between(ls_gradients_fn *fn, void *user = nullptr)
    {
        check(ls_gradients_between(get(), fn, user));
    }
};

// ------ Predicting ------

class predictor : public handle<ls_predictor, ls_predictor_close> {
public:
    explicit predictor(const ls_trainer *t)
        : handle(opened<ls_predictor>(
              [&](ls_predictor **p) { return ls_predictor_open(p, t); }))
    {
    }
    explicit predictor(const std::string &path)
        : handle(opened<ls_predictor>([&](ls_predictor **p) {
              return ls_predictor_load(p, path.c_str());
          }))
    {
    }
    void refresh(const ls_trainer *t)
    {
        check(ls_predictor_refresh(get(), t));
    }
};

// One for each thread.
class context : public handle<ls_context, ls_context_close> {
public:
    explicit context(ls_predictor *p, ls_pool *workers = nullptr)
        : handle(opened<ls_context>(
              [&](ls_context **c) { return ls_context_open(c, p, workers); }))
    {
    }
    template <typename T>
    context &set(const char *input, view<const T> data, std::int64_t rows)
    {
        check(ls_context_set_view(get(), input, dtype_of<T>(),
                                  static_cast<std::int64_t>(data.size()),
                                  data.data(), rows));
        return *this;
    }
    context &set(const char *input, view<const float> data, std::int64_t rows)
    {
        return set<float>(input, data, rows);
    }
    void predict(const char *output, view<float> out)
    {
        check(ls_context_predict(get(), output,
                                 static_cast<std::int64_t>(out.size()),
                                 out.data()));
    }
};

} // namespace lockstep

#endif
